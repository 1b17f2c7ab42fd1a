package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
)

// What a large broker has.
const (
	manyQueues   = 5000
	manyBindings = 20_000

	importTime = 5 * time.Minute
)

// measureDoctor compares an examination of a large broker, from the first call to
// the last check, with fetching its three large lists once and dropping them.
func measureDoctor(ctx context.Context, s server, o options) ([]row, error) {
	say("%s: the doctor at %d queues, %d exchanges, %d bindings", s.label, manyQueues, manyQueues, manyBindings)
	address, drop, err := s.vhost(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	vhost := strings.TrimPrefix(u.Path, "/")
	rows, err := s.examined(ctx, vhost, o.rounds)
	return rows, errors.Join(err, drop())
}

func (s server) examined(ctx context.Context, vhost string, rounds int) ([]row, error) {
	importing, cancel := context.WithTimeout(ctx, importTime)
	defer cancel()
	if err := s.manage(importing, http.MethodPost, "/api/definitions/"+vhost, definitions()); err != nil {
		return nil, err
	}
	client, err := management.New(management.Config{URL: s.management, VHost: vhost})
	if err != nil {
		return nil, err
	}
	var ours, plain []result
	var calls, most float64
	for range rounds {
		began := time.Now()
		snapshot, err := client.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		doctor.Examine(&doctor.Facts{Now: time.Now(), RabbitMQ: snapshot})
		ours = append(ours, result{wall: since(began)})
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		calls, most = float64(snapshot.Calls), max(most, float64(memory.Sys)/(1<<20))
		began = time.Now()
		for _, list := range []string{"queues", "exchanges", "bindings"} {
			if err := s.fetch(ctx, "/api/"+list+"/"+vhost); err != nil {
				return nil, err
			}
		}
		plain = append(plain, result{wall: since(began)})
	}
	name := s.label + " doctor: "
	return []row{
		compare(name+"examine / fetch the lists once", "ms", ours, plain, func(r result) float64 { return r.wall }).most(3),
		against(name+"memory / 200 MiB", "MiB", most, 200, rounds).most(1),
		against(name+"calls / at an empty broker", "calls", calls, callsAtLeast, rounds),
	}, nil
}

// callsAtLeast is one for each list, and one for the overview.
const callsAtLeast = 12

// against compares with a number that is not measured.
func against(name, unit string, ours, peer float64, rounds int) row {
	ratio := ours / peer
	return row{Name: name, Unit: unit, Rounds: rounds, Ours: ours, Peer: peer, Ratio: ratio, low: ratio, high: ratio}
}

func since(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// fetch reads one list and drops it.
func (s server) fetch(ctx context.Context, path string) error {
	u, err := url.Parse(strings.TrimSuffix(s.management, "/") + path)
	if err != nil {
		return errors.New("the management URL is not one")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("the management URL is not one")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.New("management API: it does not answer")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("management API: GET %s: %s", path, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// definitions are of a broker that many services share: each queue has an exchange,
// dead-letters to the one before it, and is bound four times.
func definitions() any {
	type object = map[string]any
	var queues, exchanges, bindings []object
	for i := range manyQueues {
		name := fmt.Sprintf("service-%d.events", i)
		exchanges = append(exchanges, object{"name": name, "type": "topic", "durable": true, "auto_delete": false, "internal": false, "arguments": object{}})
		queues = append(queues, object{"name": name, "durable": true, "auto_delete": false, "arguments": object{
			"x-queue-type": "classic", "x-dead-letter-exchange": fmt.Sprintf("service-%d.events", max(i-1, 0)), "x-dead-letter-routing-key": "created.x",
		}})
		for _, key := range []string{"created.#", "changed.#", "removed.#", "moved.#"}[:manyBindings/manyQueues] {
			bindings = append(bindings, object{"source": name, "destination": name, "destination_type": "queue", "routing_key": key, "arguments": object{}})
		}
	}
	return object{"queues": queues, "exchanges": exchanges, "bindings": bindings}
}
