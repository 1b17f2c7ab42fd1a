package jetstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// fake speaks the server's side of the protocol, so that what the driver says can be answered in ways that a server would not be talked into.
type fake struct {
	info   string // fields of INFO beside the usual ones
	refuse string // answers CONNECT with this error

	// published is told each message, from the reading goroutine. It may be
	// nil.
	published func(f *fake, m *nats.Msg)

	// unsubscribed is told the subject of a subscription that is about to
	// end, from the reading goroutine. It may be nil.
	unsubscribed func(f *fake, subject string)

	mu   sync.Mutex
	conn net.Conn
	subs map[string]string // subject by id
}

// InProcessConn implements nats.InProcessConnProvider.
func (f *fake) InProcessConn() (net.Conn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a pipe has no buffer
	if err != nil {
		return nil, err
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	server, err := l.Accept()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.conn, f.subs = server, map[string]string{}
	f.mu.Unlock()
	go f.serve(server)
	return client, nil
}

func (f *fake) serve(conn net.Conn) {
	info := `{"server_id":"F","version":"2.15.2","proto":1,"headers":true,"max_payload":1048576,"jetstream":true`
	if f.info != "" {
		info += "," + f.info // the last of one name counts
	}
	f.say("INFO %s}\r\n", info)
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if err := f.hear(strings.Fields(line), r); err != nil {
			return
		}
	}
}

func (f *fake) hear(words []string, r io.Reader) error {
	switch strings.ToUpper(words[0]) {
	case "CONNECT":
		if f.refuse != "" {
			f.say("-ERR '%s'\r\n", f.refuse)
			return f.conn.Close()
		}
	case "PING":
		f.say("PONG\r\n")
	case "SUB":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subs[words[len(words)-1]] = words[1]
	case "UNSUB":
		if f.unsubscribed != nil {
			f.unsubscribed(f, f.subject(words[1]))
		}
	case "PUB", "HPUB":
		return f.take(words, r)
	}
	return nil
}

func (f *fake) subject(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.subs[id]
}

// take reads a message: PUB subject [reply] size, or HPUB with the size of the
// headers before that of all.
func (f *fake) take(words []string, r io.Reader) error {
	sizes := 1
	if strings.EqualFold(words[0], "HPUB") {
		sizes = 2
	}
	m := &nats.Msg{Subject: words[1]}
	if len(words) == 3+sizes {
		m.Reply = words[2]
	}
	size, _ := strconv.Atoi(words[len(words)-1])
	body := make([]byte, size+2)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	m.Data = body[:size]
	if sizes == 2 {
		n, _ := strconv.Atoi(words[len(words)-2])
		var err error
		if m.Header, err = nats.DecodeHeadersMsg(m.Data[:n]); err != nil {
			return err
		}
		m.Data = m.Data[n:]
	}
	if f.published != nil {
		f.published(f, m)
	}
	return nil
}

// deliver sends a message to whoever subscribed to its subject. header is as
// on the wire, without the end of its block.
func (f *fake) deliver(subject, reply, header, body string) {
	f.mu.Lock()
	var id string
	for s, filter := range f.subs {
		if matches(filter, subject) {
			id = s
		}
	}
	f.mu.Unlock()
	if header != "" {
		header += "\r\n\r\n"
		f.say("HMSG %s %s %s %d %d\r\n%s%s\r\n", subject, id, reply, len(header), len(header)+len(body), header, body)
		return
	}
	f.say("MSG %s %s %s %d\r\n%s\r\n", subject, id, reply, len(body), body)
}

func (f *fake) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = fmt.Fprintf(f.conn, format, args...) // the end of the pipe is the client's
}

// dialFake connects the driver's connection to f.
func dialFake(t testing.TB, f *fake) (*conn, error) {
	t.Helper()
	c, err := dial(Config{InProcess: f}.withDefaults())
	if err == nil {
		t.Cleanup(c.close)
	}
	return c, err
}

func mustDial(t testing.TB, f *fake) *conn {
	t.Helper()
	c, err := dialFake(t, f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
