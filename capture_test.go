package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestCutText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", 2000)
	whole := sha256.Sum256([]byte(long))
	cut, sum := cutText(long)
	if len(cut) > maxErrorText || !utf8.ValidString(cut) || sum != hex.EncodeToString(whole[:]) {
		t.Errorf("cut to %d bytes, valid %v, sum %s", len(cut), utf8.ValidString(cut), sum)
	}
	if cut, sum := cutText("short"); cut != "short" || sum != "" {
		t.Errorf("a short text became %q with sum %q", cut, sum)
	}
	if cut, _ := cutText("a\xffb"); !utf8.ValidString(cut) {
		t.Errorf("bytes that are no text went through: %q", cut)
	}
}

func TestCaptureIDTellsMessagesApart(t *testing.T) {
	t.Parallel()
	message := func(queue, exchange, key, id, body string) *broker.Message {
		return &broker.Message{ID: id, Body: []byte(body), Origin: Origin{Queue: queue, Exchange: exchange, Key: key}}
	}
	first := captureID(message("q", "x", "k", "1", "b"))
	if again := captureID(message("q", "x", "k", "1", "b")); again != first {
		t.Error("a redelivery has another id")
	}
	for _, other := range []*broker.Message{
		message("q2", "x", "k", "1", "b"), message("q", "x2", "k", "1", "b"), message("q", "x", "k2", "1", "b"),
		message("q", "x", "k", "2", "b"), message("q", "x", "k", "1", "c"), message("qx", "", "k", "1", "b"), message("q", "x", "k1", "", "b"),
	} {
		if captureID(other) == first {
			t.Errorf("%+v has the same id", other)
		}
	}
	one, two := message("q", "", "", "", "b"), message("q", "", "", "", "b")
	if captureID(one) == captureID(two) {
		t.Error("two equal messages without an id are taken for one")
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	tests := []struct {
		err         error
		text, cause string
	}{
		{Park(fmt.Errorf("charge: %w", cause)), "charge: connection refused", "connection refused"},
		{Park(cause), "connection refused", ""},
		{errors.Join(cause, errors.New("b")), "connection refused\nb", ""},
		{(*verdict)(nil), "an error of type *holdfast.verdict that cannot be printed", ""},
	}
	for _, tt := range tests {
		if text, cause := describe(tt.err); text != tt.text || cause != tt.cause {
			t.Errorf("described as %q because of %q, want %q because of %q", text, cause, tt.text, tt.cause)
		}
	}
}
