package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFolder_has_one_server(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []Options{{}, {Listen: "127.0.0.1:0"}} {
		s := start(t, dir, o)
		_, err := Start(dir, Options{})
		var in *InUseError
		if !errors.Is(err, ErrInUse) || !errors.As(err, &in) {
			t.Fatalf("got %v", err)
		}
		if want := (InUseError{Dir: dir, PID: os.Getpid(), URL: s.URL()}); *in != want {
			t.Errorf("got %+v, want %+v", *in, want)
		}
		if !strings.Contains(err.Error(), "this process") || !strings.Contains(err.Error(), s.URL()) {
			t.Errorf("the text is %q", err)
		}
		stop(t, s)
	}
	start(t, dir, Options{})
}

func TestInUseError_says_what_is_known(t *testing.T) {
	for want, e := range map[string]InUseError{
		"embedded: /d is in use by process 7, which listens: use nats://127.0.0.1:1 instead":                              {Dir: "/d", PID: 7, URL: "nats://127.0.0.1:1"},
		"embedded: /d is in use by process 7, which does not listen: end it, or start it with a listener and use its URL": {Dir: "/d", PID: 7},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got := (&InUseError{Dir: "/d"}).Error(); !strings.Contains(got, "by another process") {
		t.Errorf("got %q", got)
	}
}

// TestFolder_of_a_dead_process leaves what a kill leaves: the file, with what
// the dead wrote, and nobody who has it.
func TestFolder_of_a_dead_process(t *testing.T) {
	dir := t.TempDir()
	content := []byte(`{"pid":1,"url":"nats://127.0.0.1:65535/and/longer/than/what/comes/next"}`)
	if err := os.WriteFile(filepath.Join(dir, lockName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir, Options{})
	_, err := Start(dir, Options{})
	var in *InUseError
	if !errors.As(err, &in) || in.PID != os.Getpid() || in.URL != "" {
		t.Errorf("got %v", err)
	}
}

func TestFolder_cannot_be_used(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ dir, want string }{
		"no name":           {"", "must be named"},
		"a file":            {file, "is a file"},
		"beneath a file":    {filepath.Join(file, "sub"), "cannot be made"},
		"a lock is no file": {withFolderForLock(t), "cannot be written"},
	}
	if runtime.GOOS == "linux" {
		// Refused to everyone, also to root.
		cases["no permission"] = struct{ dir, want string }{"/sys", "cannot be written"}
	}
	for name, tc := range cases {
		s, err := Start(tc.dir, Options{})
		if err == nil || s != nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %v; want an error with %q", name, s, err, tc.want)
		}
	}
}

func withFolderForLock(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, lockName), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolder_without_room_for_the_store(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(dir, Options{})
	if err == nil || !strings.Contains(err.Error(), "storage directory is not a directory") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "jetstream")); err != nil {
		t.Fatal(err)
	}
	start(t, dir, Options{}) // the lock was given back
}

func TestFolder_with_a_damaged_stream_is_refused_and_kept(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, Options{})
	js := client(t, s)
	orders(t, js)
	publish(t, js, "one")
	stop(t, s)
	meta := filepath.Join(dir, "jetstream", globalAccount, "streams", "ORDERS", "meta.inf")
	good, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	write(t, meta, good[:len(good)/2])

	_, err = Start(dir, Options{})
	if err == nil || !strings.Contains(err.Error(), `stream "ORDERS" cannot be read`) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
	write(t, meta, good)
	if got := next(t, client(t, start(t, dir, Options{}))); got != "one" {
		t.Errorf("got %q", got)
	}
}

func TestFolder_with_a_stream_that_was_never_made_whole(t *testing.T) {
	dir := t.TempDir()
	stop(t, start(t, dir, Options{}))
	if err := os.MkdirAll(filepath.Join(dir, "jetstream", globalAccount, "streams", "HALF", "msgs"), 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, dir, Options{}) // nobody was told that it exists
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
