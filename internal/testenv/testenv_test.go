package testenv

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestParseEnv(t *testing.T) {
	got := parseEnv("# comment=1\nA=amqp://u:p@h:1/?x=y\n\n  B=2  \nnothing\n")
	if len(got) != 2 || got["A"] != "amqp://u:p@h:1/?x=y" || got["B"] != "2" {
		t.Errorf("parseEnv = %q", got)
	}
}

func TestSettings(t *testing.T) {
	s := settings{
		lookup: func(key string) (string, bool) { return "env", key == "A" },
		file:   map[string]string{"A": "file", "B": "file"},
	}
	if s.get("A") != "env" || s.get("B") != "file" || s.get("C") != "" {
		t.Errorf("got %q %q %q; the environment goes before the file", s.get("A"), s.get("B"), s.get("C"))
	}
	s.lookup = func(string) (string, bool) { return "", true }
	if s.get("A") != "file" {
		t.Error("an empty variable hides the file")
	}
}

func TestReadEnvAbove(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	nested := filepath.Join(root, "examples", "one", "sub")
	write(t, filepath.Join(root, "go.mod"), "module m\n")
	write(t, filepath.Join(root, "examples", "one", "go.mod"), "module one\n")
	if err := os.MkdirAll(nested, 0o755); err != nil {
		t.Fatal(err)
	}

	t.Run("nothing_without_the_file", func(t *testing.T) {
		if env, err := readEnvAbove(nested); len(env) != 0 || err != nil {
			t.Errorf("got %v, %v", env, err)
		}
	})
	t.Run("found_from_a_nested_module", func(t *testing.T) {
		write(t, filepath.Join(root, envFile), "HOLDFAST_SERVICES="+root+"/scripts/services\nA=1\n")
		if env, err := readEnvAbove(nested); env["A"] != "1" || err != nil {
			t.Errorf("got %v, %v", env, err)
		}
	})
	t.Run("another_trees_file_is_ignored", func(t *testing.T) {
		write(t, filepath.Join(root, envFile), "HOLDFAST_SERVICES=/elsewhere/scripts/services\nA=1\n")
		if env, err := readEnvAbove(nested); len(env) != 0 || err != nil {
			t.Errorf("got %v, %v", env, err)
		}
	})
}

func TestPackageDir(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module m\n")
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": ".", "a/b": "a/b"} {
		physical, err := filepath.EvalSymlinks(filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := packageDir(physical); got != want {
			t.Errorf("packageDir(%q) = %q, want %q", dir, got, want)
		}
	}
}

func TestMissingServer(t *testing.T) {
	list := filepath.Join(t.TempDir(), "not-run")
	t.Setenv("HOLDFAST_NOT_RUN", list)
	// Port 1 of this host: nobody listens there.
	t.Setenv("HOLDFAST_RABBITMQ4_URL", "amqp://guest:guest@127.0.0.1:1/")
	t.Setenv("HOLDFAST_RABBITMQ4_MANAGEMENT_URL", "http://guest:guest@127.0.0.1:1")

	fake := &recorder{TB: t}
	fake.run(func() { Need(fake, "rabbitmq4") })
	if fake.fatal != "" || !strings.Contains(fake.skipped, "nobody answers") {
		t.Errorf("skipped with %q, failed with %q", fake.skipped, fake.fatal)
	}
	got, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if want := "rabbitmq4: nobody answers at 127.0.0.1:1 (internal/testenv)\n"; string(got) != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

func TestNeedRefusesAnUnknownName(t *testing.T) {
	fake := &recorder{TB: t}
	fake.run(func() { Need(fake, "rabitmq4") })
	if !strings.Contains(fake.fatal, "rabitmq4") {
		t.Errorf("fatal: %q", fake.fatal)
	}
}

func TestEventually(t *testing.T) {
	t.Run("returns_as_soon_as_it_holds", func(t *testing.T) {
		calls := 0
		Eventually(t, time.Minute, "three calls", func() bool { calls++; return calls == 3 })
		if calls != 3 {
			t.Errorf("%d calls", calls)
		}
	})
	t.Run("asks_at_least_once", func(t *testing.T) {
		Eventually(t, 0, "true at once", func() bool { return true })
	})
	t.Run("names_what_did_not_happen", func(t *testing.T) {
		fake := &recorder{TB: t}
		fake.run(func() { Eventually(fake, time.Millisecond, "pigs fly", func() bool { return false }) })
		if !strings.Contains(fake.fatal, "pigs fly") {
			t.Errorf("fatal: %q", fake.fatal)
		}
	})
}

func TestURLs(t *testing.T) {
	vhostURL, user, err := inVHost("amqp://guest:secret@127.0.0.1:5672/", "a/b")
	if err != nil || vhostURL != "amqp://guest:secret@127.0.0.1:5672/a%2Fb" || user != "guest" {
		t.Errorf("inVHost = %q, %q, %v", vhostURL, user, err)
	}
	userURL, vhost, err := asUser(vhostURL, "bob", "pw")
	if err != nil || userURL != "amqp://bob:pw@127.0.0.1:5672/a%2Fb" || vhost != "a/b" {
		t.Errorf("asUser = %q, %q, %v", userURL, vhost, err)
	}
	if _, vhost, _ = asUser("amqp://h/", "bob", "pw"); vhost != "/" {
		t.Errorf("no path leads to vhost %q", vhost)
	}
	for _, bad := range []string{"amqp://127.0.0.1/", "amqp://g:secret@[::1/"} {
		if _, _, err := inVHost(bad, "v"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("inVHost(%q): %v", bad, err)
		}
	}
}

func TestUniqueName(t *testing.T) {
	name := uniqueName("TestX/with a/ü " + strings.Repeat("long", 50))
	if url.PathEscape(name) != name || !strings.HasPrefix(name, "TestX-with-a-") || len(name) > 80 {
		t.Errorf("name %q", name)
	}
	if again := uniqueName("TestX"); again == uniqueName("TestX") {
		t.Error("not unique")
	}
}

func TestLastLines(t *testing.T) {
	if got := lastLines("1\n2\n3\n", 2); got != "2\n3" {
		t.Errorf("got %q", got)
	}
	if got := lastLines("1\n", 2); got != "1" {
		t.Errorf("got %q", got)
	}
}

func TestRunningBrokers(t *testing.T) {
	for _, r := range RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			if version := r.Ctl(t, "version"); !strings.HasPrefix(version, strings.TrimPrefix(r.Name, "rabbitmq")+".") {
				t.Errorf("version %q", version)
			}

			var vhost, user string
			t.Run("has_them_during_the_test", func(t *testing.T) {
				vhostURL := r.VHost(t)
				u, err := url.Parse(r.User(t, vhostURL, "billing", `^billing\.`, "", ".*"))
				if err != nil {
					t.Fatal(err)
				}
				vhost, user = strings.TrimPrefix(u.Path, "/"), u.User.Username()
				var permissions struct{ Configure, Write, Read string }
				r.Management(t, "GET", "/api/permissions/"+vhost+"/"+user, nil, &permissions)
				if got := fmt.Sprint(permissions); got != `{^billing\.  .*}` {
					t.Errorf("permissions %s", got)
				}
				r.Management(t, "GET", "/api/permissions/"+vhost+"/guest", nil, nil)
			})
			for _, path := range []string{"/api/vhosts/" + vhost, "/api/users/" + user} {
				if err := r.call("GET", path, nil, nil); err == nil || !strings.Contains(err.Error(), "404") {
					t.Errorf("after the test, GET %s: %v", path, err)
				}
			}
		})
	}
}

// recorder is a test whose end can be watched: Fatalf and Skipf end its goroutine, as the real ones do.
type recorder struct {
	testing.TB
	fatal, skipped string
}

func (r *recorder) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
