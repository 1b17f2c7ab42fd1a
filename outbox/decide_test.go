package outbox

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

func TestDecide(t *testing.T) {
	again := Route{Unknown: Republish, InFlight: 1, Refusals: 3}
	leave := Route{Unknown: LeaveForHuman, InFlight: 1, Refusals: 3}
	say := func(class error) error { return fmt.Errorf("the broker said: %w", class) }
	tests := map[string]struct {
		route Route
		row   store.Row
		err   error
		want  store.Outcome
	}{
		"confirmed":   {again, store.Row{}, nil, store.Outcome{State: store.Published}},
		"unrouted":    {again, store.Row{}, say(broker.ErrUnrouted), store.Outcome{State: store.Failed, Class: store.ClassUnrouted}},
		"missing":     {again, store.Row{}, say(broker.ErrMissing), store.Outcome{State: store.Failed, Class: store.ClassMissing}},
		"permission":  {leave, store.Row{}, say(broker.ErrPermission), store.Outcome{State: store.Failed, Class: store.ClassPermission}},
		"invalid":     {again, store.Row{}, say(broker.ErrConfig), store.Outcome{State: store.Failed, Class: store.ClassInvalid}},
		"unsupported": {again, store.Row{}, say(broker.ErrUnsupported), store.Outcome{State: store.Failed, Class: store.ClassInvalid}},
		"refused": {
			again,
			store.Row{Refusals: 1},
			say(broker.ErrRefused),
			store.Outcome{State: store.Pending, Class: store.ClassRefused, Refused: true, Wait: 2 * time.Second},
		},
		"refused too often": {
			again,
			store.Row{Refusals: 2},
			say(broker.ErrRefused),
			store.Outcome{State: store.Failed, Class: store.ClassRefused, Refused: true},
		},
		"unknown, first": {
			again,
			store.Row{},
			say(broker.ErrUnknown),
			store.Outcome{State: store.Pending, Class: store.ClassUnknown, Unknown: true},
		},
		"unknown, later": {
			again,
			store.Row{Unknowns: 2},
			say(broker.ErrUnknown),
			store.Outcome{State: store.Pending, Class: store.ClassUnknown, Unknown: true, Wait: 2 * firstWait},
		},
		"unknown, left": {
			leave,
			store.Row{},
			say(broker.ErrUnknown),
			store.Outcome{State: store.Publishing, Class: store.ClassUnknown, Unknown: true},
		},
		"an error of no class may mean anything": {
			leave,
			store.Row{},
			say(errors.New("what")),
			store.Outcome{State: store.Publishing, Class: store.ClassUnknown, Unknown: true},
		},
		"never sent":         {leave, store.Row{}, say(broker.ErrClosed), store.Outcome{State: store.Pending}},
		"broker unreachable": {again, store.Row{}, say(broker.ErrUnreachable), store.Outcome{State: store.Pending}},
		"login refused":      {again, store.Row{}, say(broker.ErrCredentials), store.Outcome{State: store.Pending}},
		"its destination is missing": {
			again,
			store.Row{},
			&unsentError{store.ClassMissing, say(broker.ErrMissing)},
			store.Outcome{State: store.Pending, Class: store.ClassMissing},
		},
		"it waits for another": {again, store.Row{}, errBehind, store.Outcome{State: store.Pending}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.row.ID = "id"
			test.want.ID, test.want.Confirmed = "id", 5
			got := decide(test.route, &test.row, 5, test.err)
			if told := got.Error != ""; told != (got.Class != store.ClassNone) {
				t.Errorf("the text is %q and the class %q", got.Error, got.Class)
			}
			got.Error = ""
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestDecide_never lists what must not happen whatever the error is.
func TestDecide_never(t *testing.T) {
	errs := []error{
		nil, broker.ErrUnrouted, broker.ErrMissing, broker.ErrPermission, broker.ErrConfig, broker.ErrUnsupported, broker.ErrRefused,
		broker.ErrUnknown, broker.ErrClosed, broker.ErrUnreachable, broker.ErrCredentials, broker.ErrMismatch, errors.New("x"), errBehind,
	}
	for _, a := range errs {
		for _, b := range errs {
			err := worse(a, b)
			left := decide(Route{Unknown: LeaveForHuman, Refusals: 1}, &store.Row{}, 0, err)
			if (a == nil && b == nil) != (left.State == store.Published) {
				t.Errorf("%v and %v: %s", a, b, left.State)
			}
			for _, one := range []error{a, b} {
				if what, _ := judge(one); what == effectUnknown && left.State != store.Publishing {
					t.Errorf("%v and %v, to be left: %s", a, b, left.State)
				}
			}
		}
	}
}

func TestCleanText(t *testing.T) {
	got := cleanText(errors.New("a\x00b\xff" + strings.Repeat("é", maxErrorText)))
	if !strings.HasPrefix(got, "abé") || len(got) > maxErrorText || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}
