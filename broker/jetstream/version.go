package jetstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// Scheduled messages, of which rungs and holds are made, came with NATS 2.12.
const (
	oldestMajor = 2
	oldestMinor = 12
)

func checkVersion(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	switch {
	case errA != nil || errB != nil:
		return nil // a build of somebody's own: the streams will tell
	case a > oldestMajor || a == oldestMajor && b >= oldestMinor:
		return nil
	}
	return fmt.Errorf("%w: this is NATS %.20s, and scheduled messages need %d.%d or later", broker.ErrUnsupported, version, oldestMajor, oldestMinor)
}
