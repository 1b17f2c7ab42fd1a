package alerts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/alerts"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// patience is for a loaded machine; everything happens within seconds.
const patience = 2 * time.Minute

// soon ends the names of rules that were scaled down.
const soon = "_soon"

var (
	wait   = regexp.MustCompile(`(?m)^( +for: )[1-9][0-9]*[mh]$`)
	window = regexp.MustCompile(`(\[|offset )([0-9]+m|1h)`)
	names  = regexp.MustCompile(`(?m)^( +- alert: \w+)$`)
	groups = regexp.MustCompile(`(?m)^( +- name: [\w-]+)$`)
)

// scaled is the shipped file with each `for` as 1 s and each window of up to an
// hour as 4 s, under other names. Longer windows bridge outages, and are as they
// are. So are thresholds: what tells the metrics tells an age of a day at once.
func scaled() string {
	text := wait.ReplaceAllString(string(alerts.Rules), "${1}1s")
	text = window.ReplaceAllString(text, "${1}4s")
	text = groups.ReplaceAllString(text, "${1}"+soon)
	return names.ReplaceAllString(text, "${1}"+soon)
}

// prometheus is one that runs.
type prometheus struct {
	*testing.T
	url string
}

// start runs a Prometheus in a folder of its own until the test ends.
func start(t *testing.T, config string, rules map[string]string) prometheus {
	t.Helper()
	dir := t.TempDir()
	rules["prometheus.yml"] = config
	for name, text := range rules {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(tool(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, done := make(chan string, 1), make(chan string, 1)
	go follow(log, address, done)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		text := <-done
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the log of Prometheus:\n%s", text)
		}
	})
	select {
	case at := <-address:
		if at == "" {
			t.Fatal("Prometheus ended before it listened")
		}
		return prometheus{t, "http://" + at}
	case <-time.After(patience):
		t.Fatal("Prometheus does not listen")
	}
	return prometheus{}
}

// follow reads a log to its end, and tells where Prometheus listens; "" if it
// never does.
func follow(log io.Reader, address, done chan<- string) {
	var text strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Listening on" {
			address <- line.Address
		}
	}
	close(address)
	done <- text.String()
}

func (p prometheus) look() *doctor.PrometheusFacts {
	p.Helper()
	facts, err := doctor.LookAtPrometheus(p.Context(), p.url)
	if err != nil {
		p.Logf("not yet: %v", err)
		return &doctor.PrometheusFacts{}
	}
	return facts
}

// firing are the scaled rules that fire, by their shipped names.
func firing(f *doctor.PrometheusFacts) []string {
	fire := map[string]bool{}
	for _, r := range f.Rules {
		if name, ours := strings.CutSuffix(r.Name, soon); ours && r.State == "firing" {
			fire[name] = true
		}
	}
	return slices.Sorted(maps.Keys(fire))
}

// wantFiring waits until these alerts fire and no others, and wants that to stay
// so for longer than any of the rules waits.
func (p prometheus) wantFiring(want ...string) {
	p.Helper()
	slices.Sort(want)
	var got []string
	defer func() {
		if p.Failed() {
			p.Logf("these fire: %v, and these were to: %v", got, want)
		}
	}()
	testenv.Eventually(p, patience, fmt.Sprintf("these alerts and no others: %v", want), func() bool {
		got = firing(p.look())
		return slices.Equal(got, want)
	})
	p.wantStill(time.Now().Add(2*time.Second), want)
}

// wantStill looks until every rule was evaluated after then.
func (p prometheus) wantStill(then time.Time, want []string) {
	p.Helper()
	testenv.Eventually(p, patience, "all rules evaluated again", func() bool {
		facts := p.look()
		if got := firing(facts); len(facts.Rules) > 0 && !slices.Equal(got, want) {
			p.Fatalf("first these fired and no others: %v; then %v", want, got)
		}
		return len(facts.Rules) > 0 && !slices.ContainsFunc(facts.Rules, func(r doctor.Rule) bool { return r.Evaluated.Before(then) })
	})
}

// findings are the ids and subjects of what the doctor finds.
func (p prometheus) findings() []string {
	p.Helper()
	found := []string{}
	for _, f := range doctor.Examine(&doctor.Facts{Now: time.Now(), Prometheus: p.look()}).Findings {
		found = append(found, f.ID+" "+f.Subject)
	}
	slices.Sort(found)
	return found
}

func (p prometheus) wantFindings(want ...string) {
	p.Helper()
	slices.Sort(want)
	var got []string
	defer func() {
		if p.Failed() {
			p.Logf("found: %q", got)
		}
	}()
	testenv.Eventually(p, patience, fmt.Sprintf("these findings and no others: %q", want), func() bool {
		got = p.findings()
		return slices.Equal(got, want)
	})
}

func hostOf(server *httptest.Server) string {
	u, _ := url.Parse(server.URL) // its own
	return u.Host
}

// serve serves until the test ends, or the server is closed before.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func text(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
}

const head = `
global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 500ms}
rule_files: ["*.rules"]
`

func TestAlertsThatShouldFireDoAndNoOthers(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	w := newWorld(t)
	service := serve(t, w.endpoint)
	alertmanager := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	p := start(t, head+fmt.Sprintf(`
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: billing, static_configs: [{targets: [%q]}]}]
`, hostOf(alertmanager), hostOf(service)), map[string]string{"shipped.rules": string(alerts.Rules), "soon.rules": scaled()})

	p.wantFindings()
	p.wantFiring()
	for _, fault := range faults {
		w.set(fault.change)
		p.wantFiring(fault.fire...)
	}
	w.set(func(*system) {})
	p.wantFiring()
	service.Close()
	p.wantFiring("HoldfastTargetDown", "HoldfastUnwatched")
}

func TestTheDoctorFindsWhatIsWrongWithTheWiring(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	service := serve(t, newWorld(t).endpoint)
	odd := serve(t, text("holdfast_connections_blocked{severity=\"a\"} 1\nholdfast_connections_blocked{severity=\"b\"} 1\n"))
	gone := serve(t, text("holdfast_relay_up 1\n"))
	rules := strings.Replace(string(alerts.Rules), "alert: HoldfastStrays", "alert: SomethingElse", 1)
	rules = strings.Replace(rules, "holdfast_outbox_blocker_seconds > 300", "holdfast_outbox_blocker_seconds > 3000", 1)
	p := start(t, head+fmt.Sprintf(`
scrape_configs:
  - job_name: billing
    static_configs: [{targets: [%q]}]
    metric_relabel_configs:
      - {source_labels: [__name__], regex: holdfast_stuck, action: drop}
      - {regex: class, action: labeldrop}
  - {job_name: odd, static_configs: [{targets: [%q]}]}
  - {job_name: gone, static_configs: [{targets: [%q]}]}
`, hostOf(service), hostOf(odd), hostOf(gone)), map[string]string{"shipped.rules": rules})

	want := []string{
		`HF200 alert rule "HoldfastStrays"`,
		`HF201 alert rule "HoldfastConnectionsBlocked"`,
		`HF202 alert rule "HoldfastOutboxHeldBack"`,
		`HF203 metric "holdfast_outbox_rows"`,
		`HF203 metric "holdfast_stuck"`,
		"HF204 Alertmanager of " + p.url,
	}
	p.wantFindings(want...)
	gone.Close()
	p.wantFindings(append(want, fmt.Sprintf("HF205 target %q of job %q", hostOf(gone), "gone"))...)
}

func TestAPrometheusWithoutTheRules(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	p := start(t, head, map[string]string{})
	p.wantFindings("HF200 alert rules of Holdfast")
}
