package rabbitmq_test

import (
	"reflect"
	"time"
)

// sameField compares two header values; times by the instant.
func sameField(a, b any) bool {
	at, ok := a.(time.Time)
	bt, also := b.(time.Time)
	if ok && also {
		return at.Equal(bt)
	}
	return reflect.DeepEqual(a, b)
}
