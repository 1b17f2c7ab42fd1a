package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/internal/app"
)

// managementFlags say where RabbitMQ's management API is, and how much of it is
// looked at.
type managementFlags struct {
	url string
	all bool
}

// add puts the flags on cmd and on all below it.
func (f *managementFlags) add(cmd *cobra.Command) {
	f.addURL(cmd)
	cmd.PersistentFlags().BoolVar(&f.all, "all-vhosts", false, "look at every virtual host that the user may see, not only at the one of the broker's URL")
}

// addURL is for what looks at one virtual host.
func (f *managementFlags) addURL(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.url, "management", "", "`URL` of RabbitMQ's management API (http://user:password@host:15672; without user that of the broker's URL), for a user with the tag monitoring; default $HOLDFAST_MANAGEMENT, else the broker's host and user at port 15672 (15671 for amqps)")
}

// address is where the API of the broker at brokerURL is, with the credentials;
// vhost is the virtual host to look at, and empty for all. The address is empty
// where none is given and the broker is not RabbitMQ. An error is of class
// [broker.ErrConfig]: it is told before anything is asked.
func (f *managementFlags) address(r *root, brokerURL string) (url, vhost string, err error) {
	given := f.url
	if given == "" {
		given = r.Getenv("HOLDFAST_MANAGEMENT")
	}
	url = app.ManagementURL(strings.TrimSpace(given), brokerURL)
	if url != "" {
		if _, err = management.New(management.Config{URL: url}); err != nil {
			return "", "", err
		}
	}
	if f.all {
		return url, "", nil
	}
	return url, app.VHostOf(brokerURL), nil
}
