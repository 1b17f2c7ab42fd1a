package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

func newPeek(r *root) *cobra.Command {
	var place placeFlags
	var pick selectFlags
	var bytes int
	cmd := &cobra.Command{
		Use:   "peek Q",
		Short: "Look at the first parked messages with their bodies; nothing changes",
		Args:  oneQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			selection, err := pick.selection()
			if err != nil {
				return err
			}
			if bytes < 0 {
				return usagef("--bytes is a number of bytes, not %d", bytes)
			}
			return r.withBroker(cmd.Context(), place.shared, func(b app.Broker) error {
				p := place.place(b, args[0])
				depth, err := place.arrive(cmd.Context(), r, b, p)
				if err != nil || depth.Messages == 0 {
					return r.nothing(p, err)
				}
				shown := 0
				outcome, err := triage.List(cmd.Context(), b, p,
					triage.ListOptions{Select: selection, Limit: pick.limit, Window: depth.Messages},
					func(m *broker.Stored) error {
						shown++
						return r.showOne(m, triage.Detail{Body: true, Bytes: bytes, Text: true}, shown > 1)
					})
				if err != nil {
					return fmt.Errorf("%s: %w", p.Queue, err)
				}
				if !r.json() {
					r.say("%d of %d shown", outcome.Moved, depth.Messages)
				}
				return nil
			})
		},
	}
	place.add(cmd)
	pick.add(cmd, 10, "show at most `N` messages; 0 shows all")
	cmd.Flags().IntVar(&bytes, "bytes", 1024, "show at most the first `N` bytes of a body; 0 shows all")
	return cmd
}

func (r *root) nothing(p triage.Place, err error) error {
	if err == nil && !r.json() {
		r.say("nothing waits in %s", p.Queue)
	}
	return err
}

func oneQueue(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s needs the name of one queue: holdfast %s", cmd.Name(), cmd.Use)
	}
	return nil
}

func queueAndID(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s needs a queue and a message's id, or its place as '#1': holdfast %s", cmd.Name(), cmd.Use)
	}
	return nil
}
