package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

func TestEachDifferenceIsNamed(t *testing.T) {
	p, s := migrated(t)
	outbox := p.table("outbox")
	for _, statement := range []string{
		`ALTER TABLE ` + outbox + ` ALTER COLUMN lane TYPE integer`,
		`ALTER TABLE ` + outbox + ` ALTER COLUMN relay DROP NOT NULL`,
		`ALTER TABLE ` + outbox + ` ALTER COLUMN confirmed DROP DEFAULT`,
		`ALTER TABLE ` + outbox + ` ADD COLUMN tenant text NOT NULL`,
		`ALTER TABLE ` + p.table("inbox") + ` DROP COLUMN replay`,
		`DROP INDEX ` + p.table("outbox_published"),
		`DROP TABLE ` + p.table("marks"),
	} {
		p.exec(t, statement)
	}
	is(t, s.Check(within(t)), store.ErrSchema,
		"column outbox.lane", "column outbox.relay", "column outbox.confirmed", "column outbox.tenant is not ours",
		"column inbox.replay is missing", "index outbox_published is missing", "column marks.aggregate is missing", "migrate --print")
}

func TestHiddenRowsAreADifference(t *testing.T) {
	p, _ := migrated(t)
	_, as := p.role(t, "ALL ON ALL TABLES IN SCHEMA "+p.layout.Schema)
	s := p.openAt(t, as)
	must(t, s.Check(within(t)))
	p.exec(t, `ALTER TABLE `+p.table("outbox")+` ENABLE ROW LEVEL SECURITY`)
	is(t, s.Check(within(t)), store.ErrSchema, "row security of outbox")
}

func TestWhatHarmsNobodyIsNoDifference(t *testing.T) {
	p, s := migrated(t)
	p.exec(t, `ALTER TABLE `+p.table("outbox")+` ADD COLUMN tenant text, ADD COLUMN region text NOT NULL DEFAULT 'eu'`)
	p.exec(t, `CREATE INDEX somebodys ON `+p.table("outbox")+` (created_at)`)
	must(t, s.Check(within(t)))
	p.add(t, newEntry(1))
}

func TestANewerVersionIsRefused(t *testing.T) {
	p, s := migrated(t)
	p.exec(t, `INSERT INTO `+p.table("migrations")+` (version_id, is_applied) VALUES (99, true)`)
	is(t, s.Check(within(t)), store.ErrSchema, "version 99", "newer")
}

func TestThePrintedScriptMakesTheSame(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for range 2 {
		for _, down := range []bool{false, true} {
			script, err := postgres.Script(p.layout, down)
			must(t, err)
			p.exec(t, script)
			if err := s.Check(within(t)); (err != nil) != down {
				t.Fatalf("with down %v: %v", down, err)
			}
			must(t, p.noTables(t, down))
		}
	}
	up, err := postgres.Script(p.layout, false)
	must(t, err)
	p.exec(t, up)
	must(t, s.Migrate(within(t))) // it accepts the recorded version
	must(t, s.Rollback(within(t)))
	must(t, p.noTables(t, true))
}

// noTables proves that a way down leaves nothing.
func (p *place) noTables(t *testing.T, down bool) error {
	t.Helper()
	var tables int
	must(t, p.pool.QueryRow(within(t), `SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)`, p.layout.Schema).Scan(&tables))
	if (tables == 0) != down {
		return fmt.Errorf("with down %v there are %d tables and indexes", down, tables)
	}
	return nil
}

func TestTwoLayoutsInOneDatabaseDoNotMeet(t *testing.T) {
	p, s := migrated(t)
	q, other := migrated(t)
	// In the same schema, under another prefix.
	third := &place{server: p.server, layout: p.layout, pool: p.pool, db: p.db}
	third.layout.Prefix = "other_"
	beside := third.open(t)
	must(t, beside.Migrate(within(t)))
	p.add(t, newEntry(1))
	for range 2 {
		q.add(t, newEntry(1))
	}
	for range 3 {
		third.add(t, newEntry(1))
	}
	for want, s := range map[int]*postgres.Store{1: s, 2: other, 3: beside} {
		rows, err := s.List(within(t), store.Filter{})
		must(t, err)
		if len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
		must(t, s.Check(within(t)))
	}
	must(t, beside.Rollback(within(t)))
	must(t, s.Check(within(t)))
}

func TestWhoMayMakeNoSchemaIsToldWhatToGrant(t *testing.T) {
	p := newPlace(t)
	p.exec(t, "CREATE SCHEMA "+p.layout.Schema)
	name, as := p.role(t)
	s, err := postgres.Open(within(t), postgres.Config{URL: small(t, as), Layout: postgres.Layout{Schema: "t_nobody"}})
	must(t, err)
	defer s.Close()
	is(t, s.Migrate(within(t)), store.ErrRefused, "GRANT CREATE ON DATABASE")
	// Where somebody has made it, the right to it is enough.
	p.exec(t, "GRANT ALL ON SCHEMA "+p.layout.Schema+" TO "+name)
	mine := p.openAt(t, as)
	must(t, mine.Migrate(within(t)))
	must(t, mine.Check(within(t)))
}

func TestNamesAreChecked(t *testing.T) {
	for _, l := range []postgres.Layout{
		{Schema: "Holdfast"},
		{Schema: "a b"},
		{Schema: "1a"},
		{Schema: `a"; DROP TABLE x; --`},
		{Schema: strings.Repeat("a", 41)},
		{Prefix: "A"},
		{Prefix: "a-"},
		{Prefix: strings.Repeat("a", 21)},
	} {
		if _, err := postgres.Script(l, false); err == nil {
			t.Errorf("%+v is taken", l)
		} else {
			is(t, err, store.ErrConfig)
		}
		is(t, l.SQLTx(nil).AddOutbox(within(t), []store.Entry{newEntry(1)}), store.ErrConfig)
	}
	longest := newPlace(t)
	longest.layout = postgres.Layout{Schema: longest.layout.Schema + strings.Repeat("a", 40-len(longest.layout.Schema)), Prefix: strings.Repeat("b", 20)}
	s := longest.open(t)
	must(t, s.Migrate(within(t)))
	must(t, s.Check(within(t)))
	_, err := s.Beat(within(t), store.Relay{ID: "r", Idle: true})
	must(t, err)
	longest.add(t, newEntry(1))
}
