package doctor

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// missingExchange is the check that most of these tests look with: its fault is
// made by one declaration.
const missingExchange = "HF001"

func TestExitCodes(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.want(c.examine("--only", missingExchange), 0, "nothing found; ran 1 check, 0 had nothing to look at")

		c.declareFaulty("orders")
		c.want(c.examine("--only", missingExchange), 1, missingExchange, "orders", "nowhere", "users notice", "to do", "1 error, 0 warnings; ran 1 check")
		c.want(c.examine("--only", missingExchange, "--fail-on", "never"), 0, missingExchange)
		c.want(c.examine("--skip", missingExchange, "--fail-on", "error"), 0)

		for line, want := range map[string]string{
			"--fail-on bad":                       "--fail-on is info, warning, error or never",
			"--only HF999":                        `no check "HF999"`,
			"--only HF001 --skip HF002":           "none of the others can be",
			"--watch --every 1ms":                 "--every is 1s to 24h",
			"--observe -1s":                       "--observe is the time",
			"--baseline /does/not/exist":          "no such file",
			"--manifest /does/not/exist":          "no such file",
			"--management ftp://u:hush@h":         "user:password@host:15672",
			"--password-env HOLDFAST_NO_SUCH_ONE": "is not set",
			"--ladder 9":                          "not a duration",
			"--watch --sarif x":                   "none of the others can be",
		} {
			e := c.examine(strings.Fields(line)...)
			c.want(e, 2, want)
			c.wantNot(e, "hush")
		}
		c.want(c.examineWith([]string{"HOLDFAST_BROKER=", "HOLDFAST_MANAGEMENT="}), 2, "nothing to look at")
	})
}

func TestUnreachable(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		dead := deadAddress(t)
		c.secrets = append(c.secrets, "hush")

		e := c.examine("--management", "http://doctor:hush@"+dead)
		c.want(e, 3, "RabbitMQ: ", "unreachable", "rabbitmq-plugins enable rabbitmq_management")

		e = c.examine("--management", c.managementAs(url.UserPassword("doctor", "hush")))
		c.want(e, 3, "refuses the login", "monitoring")
		c.wantNot(e, "unreachable")

		// Nothing of the broker's login makes up for the look that was refused.
		management, amqpURL := c.user("")
		c.want(c.examineWith([]string{"HOLDFAST_BROKER=" + amqpURL}, "--management", management), 3, "set_user_tags")

		// Some answer: what they tell is told, and the exit code says that it is
		// less than was asked.
		c.declareFaulty("orders")
		e = c.examine("--only", missingExchange, "--fail-on", "error", "--store", "postgres://doctor:hush@"+dead+"/outbox")
		c.want(e, 1, missingExchange, "not looked at", dead+"/outbox", "check --store")
		e = c.examine("--skip", missingExchange, "--fail-on", "error", "--prometheus", "http://doctor:hush@"+dead)
		c.want(e, 1, "not looked at", "check --prometheus")
	})
}

func TestUserWithoutTheMonitoringTag(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		management, _ := c.user("management")
		e := c.examine("--only", missingExchange, "--management", management)
		c.want(e, 0, "not looked at", "monitoring")

		management, _ = c.user("monitoring")
		e = c.examine("--only", missingExchange, "--management", management)
		c.want(e, 0, "nothing found")
	})
}

func TestNamesOfTheBrokerAreEscaped(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.declareFaulty("orders\x1b[31m\u202e")
		e := c.examine("--only", missingExchange)
		c.want(e, 1, `\x1b[31m\u202e`)
		c.wantNot(e, "\x1b", "\u202e")
	})
}

func TestReportsForCI(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.declareFaulty("orders")
		dir := t.TempDir()
		sarif, junit := filepath.Join(dir, "doctor.sarif"), filepath.Join(dir, "doctor.xml")
		e := c.examine("--sarif", sarif, "--junit", junit, "--output", "json")
		if e.code != 1 {
			t.Errorf("exit code %d\n%s", e.code, e.text())
		}
		objects := c.objects(e)
		first, last := objects[0], objects[len(objects)-1]
		if first["type"] != "finding" || first["severity"] != "error" || first["id"] != missingExchange || last["type"] != "summary" || last["errors"] == 0.0 {
			t.Errorf("the lines: %v … %v", first, last)
		}
		for file, texts := range map[string][]string{
			sarif: {`"version": "2.1.0"`, `"ruleId": "HF001"`, `"level": "error"`, `"fullyQualifiedName": "` + jsonText(first["subject"].(string)) + `"`},
			junit: {`<testsuite name="rabbitmq"`, `<testcase classname="holdfast.doctor.rabbitmq" name="HF001 `, `<failure message=`},
		} {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				if !strings.Contains(string(content), text) {
					t.Errorf("%s has no %s:\n%s", filepath.Base(file), text, content)
				}
			}
		}
	})
}

func jsonText(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
