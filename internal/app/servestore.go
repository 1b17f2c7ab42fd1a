package app

import (
	"context"
	"sync"

	"github.com/holdfast-mq/holdfast/store"
)

// LateStore is a database of which numbers are asked, and which may be down when
// that begins: it is opened when it is asked, and kept from then on. Its methods
// may be called concurrently.
type LateStore struct {
	// Open opens it.
	Open func(context.Context) (Store, error)

	mu     sync.Mutex
	opened Store
}

func (l *LateStore) get(ctx context.Context) (Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	s, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	l.opened = s
	return s, nil
}

// Status counts the rows of the outbox.
func (l *LateStore) Status(ctx context.Context) (store.Status, error) {
	s, err := l.get(ctx)
	if err != nil {
		return store.Status{}, err
	}
	return s.Status(ctx)
}

// Inboxes counts the records of each consumer.
func (l *LateStore) Inboxes(ctx context.Context) ([]store.InboxStatus, error) {
	s, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return s.Inboxes(ctx)
}

// AsideReasons counts what is set aside.
func (l *LateStore) AsideReasons(ctx context.Context) ([]store.AsideGroup, error) {
	s, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return s.AsideReasons(ctx)
}

// Close closes it, if it was opened.
func (l *LateStore) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		l.opened.Close()
	}
}
