package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// examine looks at a store as `holdfast doctor` does.
func examine(t *testing.T, s *postgres.Store, limits doctor.Limits) (*doctor.StoreFacts, []string) {
	t.Helper()
	facts, err := doctor.LookAtStore(within(t), s, "db")
	must(t, err)
	var ids []string
	for _, found := range doctor.Examine(&doctor.Facts{Now: time.Now(), Store: facts, Limits: limits}).Findings {
		ids = append(ids, found.ID)
	}
	return facts, ids
}

// here is generous to a clock that is read on a machine that does much else.
var here = doctor.Limits{ClockSkew: time.Minute}

func TestTheDoctorFindsNothingInAStoreThatIsWell(t *testing.T) {
	p, s := migrated(t)
	p.add(t, newEntry(1))
	facts, found := examine(t, s, here)
	if len(found) > 0 || facts.Err != nil || !facts.Known || facts.Clock.Abs() > time.Minute || len(facts.Outbox.Groups) != 1 {
		t.Errorf("found %q in %+v", found, facts)
	}
}

func TestTheDoctorFindsATransactionThatHoldsRowsBack(t *testing.T) {
	p, s := migrated(t)
	tx := p.begin(t)
	_, err := tx.Exec(within(t), `SELECT 1 FROM `+p.table("outbox")+` FOR UPDATE`)
	must(t, err)
	soon := doctor.Limits{ClockSkew: time.Minute, OutboxAge: time.Millisecond}
	testenv.Eventually(t, patience, "it is found", func() bool {
		_, found := examine(t, s, soon)
		return slices.Equal(found, []string{"HF106"})
	})
	must(t, tx.Rollback(within(t)))
	if _, found := examine(t, s, soon); len(found) > 0 {
		t.Errorf("found %q after its end", found)
	}
}

func TestTheDoctorTellsTablesThatDifferAndStillWhatItCan(t *testing.T) {
	p, s := migrated(t)
	p.add(t, newEntry(1))
	p.exec(t, `DROP INDEX `+p.table("outbox_published"))
	facts, found := examine(t, s, here)
	if !slices.Equal(found, []string{"HF108"}) || len(facts.Outbox.Groups) != 1 {
		t.Errorf("found %q in %+v", found, facts)
	}
	is(t, facts.Err, store.ErrSchema, "outbox_published")
}

func TestTheDoctorTellsGrantsThatAreMissing(t *testing.T) {
	p, _ := migrated(t)
	_, as := p.role(t)
	facts, found := examine(t, p.openAt(t, as), here)
	if !slices.Equal(found, []string{"HF108"}) {
		t.Errorf("found %q in %+v", found, facts)
	}
	is(t, facts.Err, store.ErrRefused)
}
