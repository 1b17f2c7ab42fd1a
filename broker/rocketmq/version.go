package rocketmq

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Popping with a timer, of which leases and rungs are made, is complete since
// RocketMQ 5.1.
const (
	oldestMajor = 5
	oldestMinor = 1
)

// longestDefault is how far ahead a broker can time a message unless it is
// told otherwise.
const longestDefault = 72 * time.Hour

// settings are those of a broker that matter here. A broker that does not tell
// them is taken to have its defaults.
type settings struct {
	version        string
	newRetryTopics bool
	longest        time.Duration // that a message can be delayed
}

func (c *conn) settings(ctx context.Context) (settings, error) {
	s := settings{longest: longestDefault}
	a, err := c.wait(ctx, command{code: askBrokerRuntime})
	if err == nil {
		var info struct {
			Table map[string]string `json:"table"`
		}
		if json.Unmarshal(a.body, &info) == nil {
			s.version = readVersion(info.Table["brokerVersionDesc"])
		}
	} else if codeOf(err) < 0 {
		return s, classify("ask for the broker's version", err)
	}
	if err := checkVersion(s.version); err != nil {
		return s, err
	}
	a, err = c.wait(ctx, command{code: askBrokerConfig})
	if codeOf(err) >= 0 { // it is not for us to know
		return s, nil
	}
	if err != nil {
		return s, classify("ask for the broker's settings", err)
	}
	return s, s.read(string(a.body))
}

// read reads a broker's settings, name=value on each line.
func (s *settings) read(text string) error {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[name] = value
		}
	}
	if all["timerWheelEnable"] == "false" {
		return unsupported("this broker has timerWheelEnable=false, and can neither be popped nor hold")
	}
	s.newRetryTopics = all["enableRetryTopicV2"] == "true"
	if n, err := strconv.ParseInt(all["timerMaxDelaySec"], 10, 32); err == nil && n > 0 {
		s.longest = time.Duration(n) * time.Second
	}
	return nil
}

// readVersion makes 5.3.3 of V5_3_3.
func readVersion(s string) string {
	return strings.ReplaceAll(strings.TrimPrefix(s, "V"), "_", ".")
}

func checkVersion(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	switch {
	case errA != nil || errB != nil:
		return nil // a build of somebody's own: its answers will tell
	case a > oldestMajor || a == oldestMajor && b >= oldestMinor:
		return nil
	}
	return fmt.Errorf("rocketmq: this is RocketMQ %.20s, and %d.%d or later is needed: %w", version, oldestMajor, oldestMinor, broker.ErrUnsupported)
}
