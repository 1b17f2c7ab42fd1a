package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	// reaperSample is how many ids a warning names.
	reaperSample = 5

	// reaperLook is how many times Batch a scan looks at, to find rows that are
	// its to fail behind those that a relay is to publish again.
	reaperLook = 64
)

// scan fails what is overdue and warns of what is left. On a quiet outbox it is
// one cheap question.
func (r *Reaper) scan(ctx context.Context) error {
	old, total, err := r.cfg.Outbox.Stuck(ctx, r.cfg.WarnAfter, nil, 1)
	if err != nil {
		return fmt.Errorf("looking for stuck rows: %w", err)
	}
	if len(old) == 0 {
		r.found(nil, total)
		return nil
	}
	relays, err := r.look(ctx)
	if err != nil {
		return fmt.Errorf("looking at the relays: %w", err)
	}
	if err := r.failOverdue(ctx, relays); err != nil {
		return err
	}
	rows, total, err := r.cfg.Outbox.Stuck(ctx, r.cfg.WarnAfter, relays.alive, r.cfg.Batch)
	if err != nil {
		return fmt.Errorf("looking for stuck rows: %w", err)
	}
	r.found(rows, total)
	r.warn(rows, total, relays)
	return nil
}

// reaperView is what a scan knows of the relays.
type reaperView struct {
	alive []string // ids
	rules rules    // of this reaper and of those that are alive
}

// look finds the relays whose beat changes within a lease of this process's
// own clock, as relays judge each other: no clock of another machine counts.
func (r *Reaper) look(ctx context.Context) (reaperView, error) {
	before, err := r.relays(ctx)
	if err != nil {
		return reaperView{}, err
	}
	if len(before) > 0 {
		if err := reaperPause(ctx, r.lease(before)); err != nil {
			return reaperView{}, err
		}
	}
	after, err := r.relays(ctx)
	if err != nil {
		return reaperView{}, err
	}
	own := settingsOf(RelayConfig{Default: r.cfg.Default, Routes: r.cfg.Routes})
	view := reaperView{rules: rules{all: []settings{own}}}
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if was, known := before[id]; !known || was.Beat != after[id].Beat {
			view.alive = append(view.alive, id)
			view.rules.all = append(view.rules.all, parseSettings(after[id].Settings))
		}
	}
	r.sawRelays(len(view.alive))
	return view, nil
}

func (r *Reaper) relays(ctx context.Context) (map[string]store.Relay, error) {
	s, err := r.cfg.Outbox.Status(ctx)
	if err != nil {
		return nil, err
	}
	relays := make(map[string]store.Relay, len(s.Relays))
	for _, relay := range s.Relays {
		relays[relay.ID] = relay
	}
	return relays, nil
}

// lease is the longest of all, and leaves a scan time for its work: in half an
// interval every relay beats more than once.
func (r *Reaper) lease(relays map[string]store.Relay) time.Duration {
	lease := r.cfg.Lease
	for _, relay := range relays {
		lease = max(lease, parseSettings(relay.Settings).Lease)
	}
	return min(lease, r.cfg.Interval/2)
}

func reaperPause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Reaper) failOverdue(ctx context.Context, relays reaperView) error {
	rows, err := r.overdue(ctx, relays)
	if err != nil {
		return fmt.Errorf("looking for overdue rows: %w", err)
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.fail(ctx, row)
	}
	return nil
}

// overdue returns the oldest rows that are this reaper's to fail. Those of
// other destinations can be many while no relay is alive, so it looks past
// them, further each time.
func (r *Reaper) overdue(ctx context.Context, relays reaperView) ([]store.Row, error) {
	for limit := r.cfg.Batch; ; limit *= 4 {
		rows, _, err := r.cfg.Outbox.Stuck(ctx, r.cfg.FailAfter, relays.alive, limit)
		if err != nil {
			return nil, err
		}
		all := len(rows) < limit || limit >= r.cfg.Batch*reaperLook
		rows = slices.DeleteFunc(rows, func(row store.Row) bool { return !relays.rules.leaves(row.Destination) })
		if all || len(rows) >= r.cfg.Batch {
			return rows[:min(len(rows), r.cfg.Batch)], nil
		}
	}
}

// fail moves one row, in a transaction of its own, so that one that cannot be
// moved keeps no other.
func (r *Reaper) fail(ctx context.Context, row store.Row) {
	text := r.verdict(row)
	moved, err := r.cfg.Outbox.Fail(ctx, row.ID, row.Token, store.ClassUnknown, text, r.cfg.Timeout)
	event := ReaperEvent{ID: row.ID, Destination: row.Destination, Type: row.Type, Since: row.PublishingSince.UTC()}
	switch {
	case err != nil:
		event.Kind, event.Err = ReaperFlipError, err
	case !moved:
		event.Kind, event.Text = ReaperLostRace, "somebody else has moved the row meanwhile: their word holds"
	default:
		event.Kind, event.Text = ReaperFailed, text
	}
	r.flipped(event.Kind)
	r.tell(event)
}

// verdict says what is known of the row, and what nobody can know.
func (r *Reaper) verdict(row store.Row) string {
	why := "its relay ended before it could record an outcome"
	if row.Error != "" && !row.ErrorAt.Before(row.PublishingSince) {
		why = row.Error
	}
	return fmt.Sprintf("publishing since %s, longer than %v: %s. It may or may not have been delivered: "+
		"a person must decide whether it may be published again",
		row.PublishingSince.UTC().Format(time.RFC3339), r.cfg.FailAfter, why)
}

// warn tells of what is stuck: rows for a human, and apart from them rows that
// a relay is to publish again.
func (r *Reaper) warn(rows []store.Row, total int, relays reaperView) {
	again := slices.DeleteFunc(slices.Clone(rows), func(row store.Row) bool { return relays.rules.leaves(row.Destination) })
	left := slices.DeleteFunc(slices.Clone(rows), func(row store.Row) bool { return !relays.rules.leaves(row.Destination) })
	r.warnOf(ReaperStuck, left, total, fmt.Sprintf(
		"no outcome is known of these rows: they may or may not have been delivered. "+
			"They fail %v after they were claimed, for a person to decide", r.cfg.FailAfter))
	if len(relays.alive) == 0 {
		r.warnOf(ReaperNoRelay, again, total, "no relay is alive: start one, which publishes these rows again")
		return
	}
	r.warnOf(ReaperWaiting, again, total, "a relay is to publish these rows again and has not yet: look at its status, "+
		"whether their destination is broken or the broker is blocked")
}

func (r *Reaper) warnOf(kind ReaperEventKind, rows []store.Row, total int, text string) {
	if len(rows) == 0 {
		return
	}
	e := ReaperEvent{Kind: kind, Since: rows[0].PublishingSince.UTC(), Count: len(rows), Backlog: total, Text: text}
	for _, row := range rows[:min(len(rows), reaperSample)] {
		e.Sample = append(e.Sample, row.ID)
	}
	r.tell(e)
}
