// Command holdfast deals with the messages that a consumer could not process.
package main

import (
	"os"

	"github.com/holdfast-mq/holdfast/internal/cli"
)

func main() { os.Exit(cli.Main()) }
