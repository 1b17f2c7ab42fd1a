package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// effect is what the ledger records of an order.
type effect string

const (
	sent      effect = "sent"      // the shop has the broker's word for it
	charged   effect = "charged"   // the service did its work
	discarded effect = "discarded" // the service dropped it on purpose
	again     effect = "again"     // it came once more after that, and nothing was done
)

const header = "orders"

// ledger is an append-only file of what was done for each order. A line is one
// write, so that a kill leaves whole lines and at most one torn one, at the
// end. It is not synced: a power cut is not part of the story.
type ledger struct {
	mu     sync.Mutex
	file   *os.File
	orders int // how many the folder is about
	did    map[string]map[effect]int
}

// openLedger opens the ledger at path. A new one is about n orders, or the
// default for 0; an old one keeps its number, and another n is an error.
func openLedger(path string, n int) (*ledger, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("demo: the ledger: %w", err)
	}
	l := &ledger{file: file, did: map[string]map[effect]int{}}
	err = l.read()
	if err == nil {
		err = l.about(n)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("demo: the ledger %s: %w", path, err)
	}
	return l, nil
}

// read takes in all whole lines and cuts off what a kill tore.
func (l *ledger) read() error {
	content, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	for line := range strings.Lines(string(whole)) {
		if err := l.take(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	if err := l.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	_, err = l.file.Seek(int64(len(whole)), io.SeekStart)
	return err
}

func (l *ledger) take(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch e := effect(word); e {
	case header:
		if _, err := fmt.Sscanf(rest, "%d", &l.orders); err != nil {
			return fmt.Errorf("%q is not a number of orders", rest)
		}
	case sent, charged, discarded, again:
		l.count(e, rest)
	default:
		return fmt.Errorf("%.40q is not a line of a ledger", line)
	}
	return nil
}

func (l *ledger) about(n int) error {
	switch {
	case l.orders == 0:
		l.orders = n
		if n == 0 {
			l.orders = DefaultOrders
		}
		return l.write(fmt.Sprintf("%s %d", header, l.orders))
	case n != 0 && n != l.orders:
		return fmt.Errorf("it is about %d orders and not %d: leave the number out, or use another folder", l.orders, n)
	default:
		return nil
	}
}

// do records e for an order unless its effect is recorded already. Then that
// is recorded and did is false: the order came again.
func (l *ledger) do(e effect, id string) (did bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settled(id) {
		e = again
	}
	if err := l.write(string(e) + " " + id); err != nil {
		return false, err
	}
	l.count(e, id)
	return e != again, nil
}

func (l *ledger) send(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(string(sent) + " " + id); err != nil {
		return err
	}
	l.count(sent, id)
	return nil
}

func (l *ledger) write(line string) error {
	_, err := l.file.WriteString(line + "\n")
	return err
}

func (l *ledger) count(e effect, id string) {
	if l.did[id] == nil {
		l.did[id] = map[effect]int{}
	}
	l.did[id][e]++
}

// times is how often e is recorded for an order.
func (l *ledger) times(e effect, id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.did[id][e]
}

func (l *ledger) settled(id string) bool {
	return l.did[id][charged] > 0 || l.did[id][discarded] > 0
}

// done reports whether nothing is left to do for an order.
func (l *ledger) done(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settled(id)
}

func (l *ledger) close() error { return l.file.Close() }
