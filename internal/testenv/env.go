package testenv

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const envFile = ".services.env"

// settings answers what a variable of the services is set to: the environment first, then the file.
type settings struct {
	lookup func(string) (string, bool)
	file   map[string]string
}

func (s settings) get(key string) string {
	if v, ok := s.lookup(key); ok && v != "" {
		return v
	}
	return s.file[key]
}

// currentSettings reads afresh each time: a test that starts a server changes the file.
func currentSettings() (settings, error) {
	s := settings{lookup: os.LookupEnv}
	dir, err := os.Getwd()
	if err != nil {
		return s, err
	}
	s.file, err = readEnvAbove(dir)
	return s, err
}

// readEnvAbove reads the file beside a go.mod in dir or above it. A nested module has none of its own, so the walk goes
// on past its go.mod. No file is no error: then nothing runs.
func readEnvAbove(dir string) (map[string]string, error) {
	root, ok := findUp(dir, func(d string) bool { return isFile(d, "go.mod") && isFile(d, envFile) })
	if !ok {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(root, envFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	env := parseEnv(string(content))
	// A copied tree brings the file along; its servers are another tree's, and not ours to break.
	if env["HOLDFAST_SERVICES"] != filepath.Join(root, "scripts", "services") {
		return nil, nil
	}
	return env, nil
}

// parseEnv reads KEY=value lines. There are no quotes and no spaces in what scripts/services writes.
func parseEnv(content string) map[string]string {
	env := make(map[string]string)
	lines := bufio.NewScanner(strings.NewReader(content))
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if ok && !strings.HasPrefix(key, "#") {
			env[key] = value
		}
	}
	return env
}

// packageDir names the package under test by its folder in the module: go test runs each test in its package's folder.
func packageDir(dir string) string {
	root, ok := findUp(dir, func(d string) bool { return isFile(d, "go.mod") })
	if !ok {
		return dir
	}
	// A nested module is a folder of the one around it.
	if outer, ok := findUp(filepath.Dir(root), func(d string) bool { return isFile(d, "go.mod") }); ok {
		root = outer
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return dir
	}
	return filepath.ToSlash(rel)
}

func findUp(dir string, found func(string) bool) (string, bool) {
	// scripts/services writes the tree's physical path; a working directory may come through a link.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		if found(dir) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func isFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}
