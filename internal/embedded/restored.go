package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// globalAccount is the account of clients that do not log in.
const globalAccount = "$G"

// checkRestored refuses a folder in which a stream has messages that the
// server could not read. It would start without that stream and only log it,
// and whoever then makes the stream anew makes it over what is there.
func (s *Server) checkRestored() error {
	account, err := s.nats.JszAccount(&server.JSzOptions{Account: globalAccount, Streams: true})
	if err != nil {
		return fmt.Errorf("embedded: the broker on %s: %w", s.dir, err)
	}
	restored := map[string]bool{}
	for _, stream := range account.Streams {
		restored[stream.Name] = true
	}
	streams := filepath.Join(s.dir, server.JetStreamStoreDir, globalAccount, "streams")
	entries, err := os.ReadDir(streams)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("embedded: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(streams, e.Name())
		// A name with a dot is a stream that was being deleted.
		if restored[e.Name()] || strings.HasPrefix(e.Name(), ".") || !hasMessages(dir) {
			continue
		}
		return fmt.Errorf("embedded: stream %q cannot be read and its messages are still there: put a good copy of %s in its place, or move it away (%s)",
			e.Name(), dir, s.voice.lines())
	}
	return nil
}

// hasMessages tells a stream with messages from one whose creation was cut off.
func hasMessages(dir string) bool {
	blocks, err := filepath.Glob(filepath.Join(dir, "msgs", "*.blk"))
	if err != nil {
		return false
	}
	for _, b := range blocks {
		if info, err := os.Stat(b); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}
