package gcppubsub

import (
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// ordered is a session with deliveries in hand that have these keys.
func ordered(ordering bool, keys ...string) (*session, []*delivery) {
	s := &session{changed: make(chan struct{}), source: found{ordering: ordering}, open: map[*delivery]struct{}{}}
	s.keys = map[string]*delivery{}
	var all []*delivery
	for _, key := range keys {
		all = append(all, &delivery{session: s, raw: &pubsubpb.PubsubMessage{OrderingKey: key}})
	}
	s.arrive(all)
	return s, all
}

func TestTake_lets_one_of_a_key_run_at_a_time(t *testing.T) {
	t.Parallel()
	s, all := ordered(true, "a", "a", "", "b", "")
	for i, want := range []*delivery{all[0], all[2], all[3], all[4], nil} {
		if got := s.take(); got != want {
			t.Errorf("take %d is not the one that may run", i)
		}
	}
	s.forget(all[0])
	if s.take() != all[1] || s.take() != nil {
		t.Error("the next of the key did not come after the end of the first")
	}
}

func TestTake_knows_no_keys_without_ordering(t *testing.T) {
	t.Parallel()
	s, all := ordered(false, "a", "a")
	if s.take() != all[0] || s.take() != all[1] {
		t.Error("a key held up another message")
	}
}

func TestFollowers_leave_with_the_one_that_comes_again(t *testing.T) {
	t.Parallel()
	s, all := ordered(true, "a", "a", "b", "a")
	first := s.take()
	if list := s.followers("a"); len(list) != 2 || list[0] != all[1] || list[1] != all[3] {
		t.Errorf("%d followers", len(list))
	}
	s.forget(first)
	if s.take() != all[2] || s.take() != nil || len(s.open) != 1 || s.sent != 1 {
		t.Errorf("%d are open, %d count", len(s.open), s.sent)
	}
}
