package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/triage"
)

// progress is one line that is written over and over on a terminal, and
// nothing anywhere else. A bar of a library would do the same with more
// dependencies than lines saved.
type progress struct {
	r     *root
	verb  string
	goal  int
	began time.Time

	mu    sync.Mutex
	drawn time.Time
	shown bool
}

const redraw = 100 * time.Millisecond

func (r *root) newProgress(verb string, goal int) *progress {
	return &progress{r: r, verb: verb, goal: goal, began: r.Now()}
}

// moved draws how far a verb is. It is called from the driver's goroutines.
func (p *progress) moved(o triage.Outcome) {
	if !p.r.StderrTerminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.r.Now()
	if now.Sub(p.drawn) < redraw {
		return
	}
	p.drawn, p.shown = now, true
	fmt.Fprintf(p.r.Stderr, "\r\x1b[K%s", cut(p.text(o.Moved, now), p.r.Width))
}

func (p *progress) text(done int, now time.Time) string {
	text := fmt.Sprintf("%s %d of %d", p.verb, done, p.goal)
	if p.goal > 0 {
		text += fmt.Sprintf(" (%d%%)", done*100/p.goal)
	}
	took := now.Sub(p.began)
	if done == 0 || took <= 0 {
		return text
	}
	rate := float64(done) / took.Seconds()
	left := time.Duration(float64(p.goal-done) / rate * float64(time.Second))
	return text + fmt.Sprintf(", %s a second, %v left", number3(rate), left.Round(time.Second))
}

func number3(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// clear takes the line away, so that what comes next stands alone.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.r.Stderr, "\r\x1b[K")
		p.shown = false
	}
}
