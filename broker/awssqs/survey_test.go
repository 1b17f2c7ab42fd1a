package awssqs

import "testing"

func TestWhoMayMoveDeadLettersIn(t *testing.T) {
	const us, them = "arn:aws:sqs:eu-west-1:1:orders", "arn:aws:sqs:eu-west-1:1:mail"
	for policy, want := range map[string]bool{
		"": true, "no json": true, `{"redrivePermission":"allowAll"}`: true,
		`{"redrivePermission":"denyAll"}`:                                    false,
		`{"redrivePermission":"byQueue","sourceQueueArns":["` + us + `"]}`:   true,
		`{"redrivePermission":"byQueue","sourceQueueArns":["` + them + `"]}`: false,
	} {
		if allows(policy, us) != want {
			t.Errorf("%s: %v", policy, !want)
		}
	}
	if !sameAccount(us, them) || sameAccount(us, "arn:aws:sqs:eu-west-1:2:mail") || sameAccount(us, "") {
		t.Error("accounts are told wrongly")
	}
}

func TestAQueueThatHasHandedOutAllItCan(t *testing.T) {
	for n, want := range map[string]bool{"": false, "119999": false, "120000": true} {
		if got := handedOut(map[string]string{attrHidden: n}); (got != "") != want {
			t.Errorf("%s hidden: %q", n, got)
		}
	}
}
