package awssqs

import "testing"

func TestRedriveLimitIsReadAsNumberOrText(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int{
		"": 0, "{": 0, `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead"}`: 0,
		`{"maxReceiveCount":5}`: 5, `{"maxReceiveCount":"5"}`: 5, `{"maxReceiveCount":-1}`: 0,
	} {
		if got := redriveLimit(policy); got != want {
			t.Errorf("%s: %d, not %d", policy, got, want)
		}
	}
}

func TestWhatWouldLoseParkedMessagesIsDoubted(t *testing.T) {
	t.Parallel()
	good := map[string]string{attrRetention: "1209600", attrLargest: "1048576"}
	if got := doubts("orders-parked", good); len(got) != 0 {
		t.Errorf("doubts of a good queue: %q", got)
	}
	poor := map[string]string{attrRetention: "345600", attrLargest: "262144", attrRedrive: `{"maxReceiveCount":3}`}
	if got := doubts("orders-parked", poor); len(got) != 3 {
		t.Errorf("doubts of a poor queue: %q", got)
	}
}
