package natsserver

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
)

// learnPort reads which port the server took on its first start, and reports
// whether it is known. The server chooses: a port that the test had found free
// could be taken by the time the server wants it.
func (s *Server) learnPort() bool {
	if s.port != "-1" {
		return true
	}
	files, _ := filepath.Glob(s.file("*.ports")) // the pattern is right
	if len(files) == 0 {
		return false
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return false
	}
	var ports struct{ Nats []string }
	if json.Unmarshal(content, &ports) != nil || len(ports.Nats) == 0 {
		return false // it is still being written
	}
	u, err := url.Parse(ports.Nats[0])
	if err != nil || u.Port() == "" {
		return false
	}
	s.port = u.Port()
	return true
}
