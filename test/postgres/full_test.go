package postgres

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
)

// TestAFullDisk proves that a full disk is told as what it is, loses nothing
// that was committed, and that work goes on when there is room.
func TestAFullDiskIsToldAndLosesNothing(t *testing.T) {
	p, s := migrated(t)
	grow := p.onSmallDisk(t)
	var committed []store.Entry
	var err error
	for err == nil && len(committed) < 10_000 {
		e := newEntry(1)
		e.Payload = make([]byte, 100_000)
		_, _ = rand.Read(e.Payload) // never fails; what cannot be compressed
		tx := p.begin(t)
		if err = p.layout.Tx(tx).AddOutbox(within(t), []store.Entry{e}); err == nil {
			must(t, tx.Commit(within(t)))
			committed = append(committed, e)
		} else {
			must(t, tx.Rollback(within(t)))
		}
	}
	is(t, err, store.ErrFull)
	t.Logf("full after %d rows", len(committed))

	grow()
	claim := holder(t, s, 1)[0]
	claim.Limit = len(committed) + 1
	rows, err := s.Claim(within(t), claim)
	must(t, err)
	if len(rows) != len(committed) || len(rows) == 0 {
		t.Fatalf("claimed %d rows of %d", len(rows), len(committed))
	}
}

// onSmallDisk moves the outbox to a file system of a few megabytes, and returns
// what gives it more. That takes root.
func (p *place) onSmallDisk(t *testing.T) (grow func()) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "holdfast-full-")
	must(t, err)
	t.Cleanup(func() { os.Remove(dir) })
	must(t, os.Chmod(dir, 0o755))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m,mode=0777", "tmpfs", dir).CombinedOutput(); err != nil {
		testenv.Skip(t, "a small disk", "cannot mount one: "+string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("cleaning up: %s", out)
		}
	})
	location := dir + "/space"
	must(t, os.Mkdir(location, 0o700))
	if out, err := exec.Command("chown", "postgres", location).CombinedOutput(); err != nil {
		testenv.Skip(t, "a small disk", "the server has no user of its own: "+string(out))
	}
	space := "space_" + random()
	p.exec(t, `CREATE TABLESPACE `+space+` LOCATION '`+location+`'`)
	t.Cleanup(func() {
		for _, statement := range []string{`DROP TABLE ` + p.table("outbox"), `DROP TABLESPACE ` + space} {
			if _, err := p.pool.Exec(context.Background(), statement); err != nil {
				t.Errorf("cleaning up: %v", err)
			}
		}
	})
	p.exec(t, `ALTER TABLE `+p.table("outbox")+` SET TABLESPACE `+space)
	return func() {
		if out, err := exec.Command("mount", "-o", "remount,size=256m", dir).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
}
