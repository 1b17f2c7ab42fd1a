package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

type answerFlags struct {
	place       placeFlags
	body        string
	file        string
	contentType string
	typ         string
}

func newAnswer(r *root) *cobra.Command {
	var f answerFlags
	cmd := &cobra.Command{
		Use:   "answer Q ID",
		Short: "Answer a parked request by hand: its caller gets the reply, and the request is removed",
		Args:  queueAndID,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			body, err := f.read(r, cmd.Flags().Changed("body"))
			if err != nil {
				return err
			}
			return r.withBroker(ctx, f.place.shared, func(b app.Broker) error {
				p := f.place.place(b, args[0])
				if _, err := f.place.arrive(ctx, r, b, p); err != nil {
					return err
				}
				reply := &broker.Reply{Body: body, ContentType: f.contentType, Type: f.typ}
				m, err := triage.Answer(ctx, b, p, args[1], reply)
				if err != nil {
					return err
				}
				return r.answered(m)
			})
		},
	}
	f.place.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.body, "body", "", "the answer as `TEXT`")
	flags.StringVar(&f.file, "file", "", "the answer is in this `FILE`; - is stdin, which is the default without a terminal")
	flags.StringVar(&f.contentType, "content-type", "", "of the answer; default that of the request")
	flags.StringVar(&f.typ, "type", "", "the answer's message type")
	cmd.MarkFlagsMutuallyExclusive("body", "file")
	return cmd
}

// read takes the body from where it was given. Without --body and --file it is
// stdin, but never a terminal that somebody sits at and wonders.
func (f *answerFlags) read(r *root, given bool) ([]byte, error) {
	switch {
	case given:
		return []byte(f.body), nil
	case f.file != "" && f.file != "-":
		body, err := os.ReadFile(f.file)
		if err != nil {
			return nil, &usageError{err}
		}
		return body, nil
	case f.file == "" && r.StdinTerminal:
		return nil, usagef("what is the answer? Give --body, --file, or the body on stdin (--file -)")
	}
	body, err := io.ReadAll(r.Stdin)
	if err != nil {
		return nil, fmt.Errorf("reading the answer from stdin: %w", err)
	}
	return body, nil
}

func (r *root) answered(m *broker.Stored) error {
	if r.json() {
		return r.emit(struct {
			Type          string `json:"type"`
			Verb          string `json:"verb"`
			ID            string `json:"id"`
			ReplyTo       string `json:"reply_to"`
			CorrelationID string `json:"correlation_id"`
		}{"result", "answered", triage.Name(m), m.Message.ReplyTo, m.Message.CorrelationID})
	}
	_, err := fmt.Fprintf(r.Stdout, "answered %s: the reply is in %s, and the request is removed\n",
		printable(triage.Name(m)), printable(m.Message.ReplyTo))
	return err
}
