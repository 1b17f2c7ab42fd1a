package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// memStore is as much of an outbox in memory as a relay uses. What the real
// stores do is tested by their own suite, and with the relay in test/outbox.
type memStore struct {
	store.Outbox // what is not here is not used

	mu     sync.Mutex
	rows   []*memRow
	relays map[string]store.Relay
	leases [store.Lanes]store.Lease
	wake   chan struct{}
	down   error             // of every call
	losing bool              // claims happen and are not answered
	check  error             // of Check
	record [][]store.Outcome // each call of Record that wrote
}

type memRow struct {
	store.Row
	retryAt time.Time
}

func newMemStore() *memStore {
	s := &memStore{relays: map[string]store.Relay{}, wake: make(chan struct{})}
	for i := range s.leases {
		s.leases[i].Lane = i
	}
	return s
}

func (s *memStore) begin(ctx context.Context) error {
	s.mu.Lock()
	err := s.down
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.mu.Unlock()
	}
	return err
}

func (s *memStore) breakDown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// AddOutbox makes it its own transaction.
func (s *memStore) AddOutbox(_ context.Context, entries []store.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if err := e.Validate(); err != nil {
			return err
		}
		s.rows = append(s.rows, &memRow{Row: store.Row{Entry: e, Seq: int64(len(s.rows)), State: store.Pending, CreatedAt: time.Now()}})
	}
	close(s.wake)
	s.wake = make(chan struct{})
	return nil
}

func (s *memStore) Check(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.check
}

func (s *memStore) Beat(ctx context.Context, self store.Relay) (store.Standing, error) {
	if err := s.begin(ctx); err != nil {
		return store.Standing{}, err
	}
	defer s.mu.Unlock()
	self.Beat = s.relays[self.ID].Beat + 1
	s.relays[self.ID] = self
	return s.standing(), nil
}

func (s *memStore) standing() store.Standing {
	st := store.Standing{Leases: slices.Clone(s.leases[:])}
	for _, r := range s.relays {
		st.Relays = append(st.Relays, r)
	}
	return st
}

func (s *memStore) Take(ctx context.Context, relay string, seen []store.Lease) (taken []store.Lease, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, l := range seen {
		if s.leases[l.Lane] == l {
			s.leases[l.Lane] = store.Lease{Lane: l.Lane, Relay: relay, Token: l.Token + 1}
			taken = append(taken, s.leases[l.Lane])
		}
	}
	return taken, nil
}

func (s *memStore) Yield(ctx context.Context, relay string, held []store.Lease, gone bool) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, l := range held {
		if s.leases[l.Lane] == l {
			s.leases[l.Lane] = store.Lease{Lane: l.Lane, Token: l.Token + 1}
		}
	}
	if gone {
		delete(s.relays, relay)
	}
	return nil
}

func (s *memStore) Forget(ctx context.Context, relays []string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, id := range relays {
		delete(s.relays, id)
	}
	return nil
}

func (s *memStore) claimable(c store.Claim) (rows []*memRow) {
	if s.leases[c.Lane] != (store.Lease{Lane: c.Lane, Relay: c.Relay, Token: c.Token}) {
		return nil
	}
	type key struct{ destination, ordering string }
	behind := map[key]bool{}
	for _, r := range s.rows {
		k := key{r.Destination, r.OrderingKey}
		leave := slices.Contains(c.Leave, r.Destination) != c.LeaveAll
		mine := r.State == store.Pending && !r.NotBefore.After(time.Now()) ||
			r.State == store.Publishing && r.Token != c.Token && !leave
		switch {
		case r.Lane != c.Lane, slices.Contains(c.Skip, r.Destination), !mine, behind[k]:
		case r.retryAt.After(time.Now()):
			behind[k] = r.OrderingKey != ""
		default:
			rows = append(rows, r)
		}
	}
	return rows[:min(len(rows), c.Limit)]
}

func (s *memStore) Due(ctx context.Context, claims []store.Claim) (due []int, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, c := range claims {
		if len(s.claimable(c)) > 0 {
			due = append(due, c.Lane)
		}
	}
	return due, nil
}

func (s *memStore) Claim(ctx context.Context, c store.Claim) (rows []store.Row, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, r := range s.claimable(c) {
		if r.State == store.Publishing {
			r.Unknowns++
		}
		r.State, r.Relay, r.Token, r.PublishingSince = store.Publishing, c.Relay, c.Token, time.Now()
		rows = append(rows, r.Row)
	}
	if s.losing {
		return nil, errors.New("the answer was lost")
	}
	return rows, nil
}

func (s *memStore) Record(ctx context.Context, c store.Claim, outcomes []store.Outcome) (written []string, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.leases[c.Lane] != (store.Lease{Lane: c.Lane, Relay: c.Relay, Token: c.Token}) {
		return nil, nil
	}
	for _, o := range outcomes {
		r := s.find(o.ID)
		if r == nil || r.State != store.Publishing || r.Token != c.Token {
			continue
		}
		r.State, r.Confirmed, r.Class, r.Error = o.State, o.Confirmed, o.Class, o.Error
		r.retryAt = time.Now().Add(o.Wait)
		if o.Refused {
			r.Refusals++
		}
		if o.Unknown {
			r.Unknowns++
		}
		written = append(written, o.ID)
	}
	s.record = append(s.record, slices.Clone(outcomes))
	return written, nil
}

func (s *memStore) find(id string) *memRow {
	for _, r := range s.rows {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (s *memStore) Wait(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	wake := s.wake
	s.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

func (s *memStore) Status(ctx context.Context) (st store.Status, err error) {
	if err := s.begin(ctx); err != nil {
		return st, err
	}
	defer s.mu.Unlock()
	for _, r := range s.rows {
		st.Groups = append(st.Groups, store.Group{State: r.State, Destination: r.Destination, Count: 1})
	}
	st.Standing = s.standing()
	return st, nil
}

// states counts the rows by destination, state and class.
func (s *memStore) states() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, r := range s.rows {
		text := fmt.Sprint(r.Destination, " ", r.State)
		if r.Class != "" {
			text += " " + string(r.Class)
		}
		n[text]++
	}
	return n
}

func (s *memStore) row(i int) store.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[i].Row
}

func (s *memStore) remembered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.relays)
}

func (s *memStore) token(lane int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[lane].Token
}

func (s *memStore) holders() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, l := range s.leases {
		n[l.Relay]++
	}
	return n
}
