package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by -ldflags "-X …/internal/cli.version=…". Without it the
// module's own version counts, which `go install` knows.
var version = ""

type versionLine struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func newVersion(r *root) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			if r.json() {
				return r.emit(v)
			}
			_, err := fmt.Fprintf(r.Stdout, "holdfast %s, commit %s, %s\n", v.Version, v.Commit, v.Go)
			return err
		},
	}
}

func thisVersion() versionLine {
	v := versionLine{Version: version, Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Commit += " with changes"
		}
	}
	return v
}
