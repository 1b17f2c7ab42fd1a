package sqlstate_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/classify/sqlstate"
)

type pgError string

func (e pgError) Error() string    { return "ERROR (SQLSTATE " + string(e) + ")" }
func (e pgError) SQLState() string { return string(e) }

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{pgError("22003"), "park"},
		{pgError("23505"), "park"},
		{pgError("40001"), "retry"},
		{pgError("40P01"), "retry"},
		{pgError("08006"), "hold"},
		{pgError("53300"), "hold"},
		{pgError("57P01"), "hold"},
		{pgError("42P01"), "hold"},
		{pgError("XX000"), "hold"},
		{pgError(""), "hold"},
		{fmt.Errorf("charge: %w", pgError("23503")), "park"},
		{driver.ErrBadConn, "hold"},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "hold"},
		{context.DeadlineExceeded, "hold"},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, "hold"},
		{errors.New("no such order"), ""},
		{nil, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.err), func(t *testing.T) {
			t.Parallel()
			got := ""
			var v interface {
				HoldfastVerdict() (string, time.Duration)
			}
			if err := sqlstate.Classify(tt.err); err != nil {
				if !errors.Is(err, tt.err) {
					t.Errorf("the verdict hides its cause: %v", err)
				}
				errors.As(err, &v)
				got, _ = v.HoldfastVerdict()
			}
			if got != tt.want {
				t.Errorf("classified as %q, want %q", got, tt.want)
			}
		})
	}
}
