package rocketmq

import (
	"bufio"
	"bytes"
	"maps"
	"strings"
	"testing"
)

func TestCommand_survives_the_wire(t *testing.T) {
	sent := &command{code: askPop, opaque: 7, flag: flagAnswer, remark: "r", fields: map[string]string{"topic": "漢\x01字"}, body: []byte{0, 1, 255}}
	frame, err := sent.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := readCommand(bufio.NewReader(bytes.NewReader(frame)))
	if err != nil {
		t.Fatal(err)
	}
	if got.code != sent.code || got.opaque != 7 || got.flag != flagAnswer || got.remark != "r" ||
		!maps.Equal(got.fields, sent.fields) || !bytes.Equal(got.body, sent.body) {
		t.Errorf("%+v", got)
	}
}

func TestReadCommand_refuses_what_is_no_answer(t *testing.T) {
	for name, frame := range map[string]string{
		"HTTP":          "HTTP/1.1 400 Bad Request\r\n\r\n",
		"too large":     "\xff\xff\xff\xff\x00\x00\x00\x01{}",
		"header beyond": "\x00\x00\x00\x08\x00\x00\x00\x20{}{}",
		"another kind":  "\x00\x00\x00\x08\x01\x00\x00\x04{}{}",
		"no JSON":       "\x00\x00\x00\x06\x00\x00\x00\x02xx",
		"cut":           "\x00\x00\x00\x10\x00\x00\x00\x02{}",
	} {
		if _, err := readCommand(bufio.NewReader(strings.NewReader(frame))); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestSign is the signature that RocketMQ's own client makes: the values in
// the order of their names, then the body.
func TestSign(t *testing.T) {
	fields := map[string]string{"topic": "t", "a": "1"}
	c := &command{fields: fields, body: []byte("body")}
	c.sign("key", "secret")
	if len(fields) != 2 {
		t.Error("the caller's fields were changed")
	}
	const want = "8IgmO7b9kO9hyoRRq3e98RucwgI="
	if c.fields["AccessKey"] != "key" || c.fields["Signature"] != want {
		t.Errorf("%v", c.fields)
	}
	plain := &command{}
	plain.sign("", "")
	if len(plain.fields) != 0 {
		t.Errorf("signed without a key: %v", plain.fields)
	}
}
