package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync/atomic"
)

// wire stands before the database and counts how often it says that it is ready for the next request: once for each
// round trip.
type wire struct {
	url      string
	server   string
	listener net.Listener
	ready    atomic.Int64
}

func openWire(server string) (*wire, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{server: u.Host, listener: l}
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	w.url = u.String()
	go w.accept()
	return w, nil
}

func (w *wire) close() { _ = w.listener.Close() }

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.forward(client)
	}
}

func (w *wire) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	answers := bufio.NewReader(server)
	for {
		var head [5]byte // a type, and a length that counts itself
		if _, err := io.ReadFull(answers, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(answers, body); err != nil {
			return
		}
		if head[0] == 'Z' {
			w.ready.Add(1)
		}
		if _, err := client.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}
