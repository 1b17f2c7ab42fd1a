package awssqs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestOpenNamesEachFaultOfAConfig(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{
		Endpoint: "https://user:secret@host", Namespace: "a.b", HoldSuffix: "-parked",
		Lease: 1500 * time.Millisecond, Wait: 30 * time.Second, Attempts: 11, GroupBatch: 11, CallTimeout: -1,
	})
	if !errors.Is(err, broker.ErrConfig) {
		t.Fatalf("the error is %v", err)
	}
	for _, field := range []string{"Endpoint", "Namespace", "HoldSuffix", "Lease", "Wait", "Attempts", "GroupBatch", "CallTimeout"} {
		if !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("nothing is said of %s: %v", field, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("a password is shown: %v", err)
	}
}

func TestOpenAsksForARegion(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.Context(), Config{AWS: &aws.Config{}}); !errors.Is(err, broker.ErrConfig) {
		t.Errorf("the error is %v", err)
	}
}
