package cli

import (
	"log/slog"

	"github.com/spf13/cobra"
)

// logFlags say how a command that goes on for long writes its log.
type logFlags struct {
	form  string
	level string
}

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.form, "log", outputText, "text or json: the form of the log on stderr")
	cmd.Flags().StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
}

func (f *logFlags) logger(r *root) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usagef("--log-level is debug, info, warn or error, not %q", f.level)
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: utc}
	switch f.form {
	case outputText:
		return slog.New(slog.NewTextHandler(r.Stderr, o)), nil
	case outputJSON:
		return slog.New(slog.NewJSONHandler(r.Stderr, o)), nil
	default:
		return nil, usagef("--log is text or json, not %q", f.form)
	}
}

func utc(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Time(a.Key, a.Value.Time().UTC())
	}
	return a
}
