package jetstream

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestWhatAConsumerTells(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long, just := now.Add(-time.Hour), now.Add(-time.Second)
	for name, tt := range map[string]struct {
		change    func(*jetstream.ConsumerInfo)
		consumers int
		stopped   string
	}{
		"new":                          {func(*jetstream.ConsumerInfo) {}, 0, ""},
		"asked":                        {func(i *jetstream.ConsumerInfo) { i.NumWaiting = 1 }, -1, ""},
		"between two asks":             {func(i *jetstream.ConsumerInfo) { i.AckFloor.Last = &just }, -1, ""},
		"left alone":                   {func(i *jetstream.ConsumerInfo) { i.AckFloor.Last, i.Delivered.Last = &long, &long }, 0, ""},
		"with all it may hand out":     {func(i *jetstream.ConsumerInfo) { i.NumAckPending, i.Delivered.Last = 5, &long }, -1, "at its limit of 5 "},
		"at its limit and at work":     {func(i *jetstream.ConsumerInfo) { i.NumAckPending, i.AckFloor.Last = 5, &just }, -1, ""},
		"paused":                       {func(i *jetstream.ConsumerInfo) { i.PauseRemaining = time.Minute }, 0, "paused by its owner for 1m0s more"},
		"below what may be handed out": {func(i *jetstream.ConsumerInfo) { i.NumAckPending = 4 }, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := &jetstream.ConsumerInfo{TimeStamp: now, NumPending: 3, Config: jetstream.ConsumerConfig{MaxAckPending: 5}}
			tt.change(info)
			s := broker.SourceSurvey{Consumers: -1}
			consumerSeen(&s, info)
			if s.Consumers != tt.consumers || !strings.HasPrefix(s.Stopped, tt.stopped) || (s.Stopped == "") != (tt.stopped == "") {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestWhatAClusterDoesToAStream(t *testing.T) {
	t.Parallel()
	info := func(replicas int, c *jetstream.ClusterInfo) *jetstream.StreamInfo {
		return &jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: replicas}, Cluster: c}
	}
	peers := []*jetstream.PeerInfo{{Name: "b"}, {Name: "c"}}
	for name, tt := range map[string]struct {
		info *jetstream.StreamInfo
		want string
	}{
		"alone":          {info(1, nil), ""},
		"alone by name":  {info(1, &jetstream.ClusterInfo{Leader: "a"}), ""},
		"three copies":   {info(3, &jetstream.ClusterInfo{Name: "C", Leader: "a", Replicas: peers}), ""},
		"one copy":       {info(1, &jetstream.ClusterInfo{Name: "C", Leader: "a"}), "one copy, on a"},
		"no leader":      {info(3, &jetstream.ClusterInfo{Name: "C", Replicas: peers}), "no leader"},
		"server offline": {info(3, &jetstream.ClusterInfo{Name: "C", Leader: "a", Replicas: []*jetstream.PeerInfo{{Name: "b", Offline: true}}}), "server b"},
	} {
		if got := unsafe(tt.info); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAnAccountThatIsFull(t *testing.T) {
	t.Parallel()
	for limit, full := range map[int64]bool{-1: false, 0: false, 1000: true, 1001: false} {
		tier := jetstream.Tier{Store: 900, Limits: jetstream.AccountLimits{MaxStore: limit}}
		if (fullAccount(tier) != "") != full {
			t.Errorf("900 of %d: %q", limit, fullAccount(tier))
		}
	}
}
