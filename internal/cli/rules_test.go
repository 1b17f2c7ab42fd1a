package cli

import "testing"

func TestRules(t *testing.T) {
	f := newFake(t)
	f.want(f.run("rules"), exitOK, "groups:", "- alert: HoldfastConsumerDetached")
	f.want(f.run("rules", "--output", "json"), exitOK, `"name":"HoldfastConsumerDetached","severity":"critical","expr":"holdfast_attached == 0","for_seconds":60,`)
	f.want(f.run("rules", "--dashboard"), exitOK, `"uid": "holdfast"`)
	f.want(f.run("rules", "more"), exitUsage)
}
