package app

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/holdfast-mq/holdfast/store"
)

// TestLateStore_opens_once_it_can: a database that is down at first is asked
// again, and one that is there is opened once.
func TestLateStore_opens_once_it_can(t *testing.T) {
	t.Parallel()
	down, opened := true, 0
	l := &LateStore{Open: func(ctx context.Context) (Store, error) {
		if down {
			return nil, store.ErrUnreachable
		}
		opened++
		s, err := OpenStore(ctx, StoreConfig{URL: "sqlite:" + filepath.Join(t.TempDir(), "late.db")})
		if err == nil {
			err = s.Migrate(ctx)
		}
		return s, err
	}}
	defer l.Close()
	if _, err := l.Status(t.Context()); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("while it is down: %v", err)
	}
	down = false
	_, errStatus := l.Status(t.Context())
	_, errInboxes := l.Inboxes(t.Context())
	_, errAsides := l.AsideReasons(t.Context())
	if err := errors.Join(errStatus, errInboxes, errAsides); err != nil || opened != 1 {
		t.Errorf("opened %d times: %v", opened, err)
	}
}
