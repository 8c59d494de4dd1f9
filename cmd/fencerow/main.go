// Command fencerow proves, inspects and operates fenced locks. Run it without arguments for its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fencerow/fencerow/cmd/fencerow/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := cli.Run(ctx, os.Args[1:], cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
