// Command modproxy packs the modules of this repository as their next version, serves them from a throw-away module proxy,
// and runs the go command against it: what cannot be checked in the workspace is checked before the release that way.
//
//	modproxy build DIR    write the proxy to the folder DIR/proxy and print its URL
//	modproxy tidy         run "go mod tidy" for every module
//	modproxy tidy-check   fail with a diff if that would change anything
//	modproxy rehearse     build, install and use the release
//
// "go mod tidy" ignores go.work, so it can only resolve a sibling at a version that a proxy has.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "modproxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	repo, err := modlist.FindRepo()
	if err != nil {
		return err
	}
	if len(args) == 2 && args[0] == "build" {
		return build(repo, args[1], out)
	}
	commands := map[string]func(context.Context, string, string, io.Writer) error{
		"tidy": tidy, "tidy-check": tidyCheck, "rehearse": rehearse,
	}
	if len(args) != 1 || commands[args[0]] == nil {
		return errors.New("usage: modproxy build DIR | tidy | tidy-check | rehearse")
	}
	temp, err := os.MkdirTemp("", "fencerow-modproxy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	return commands[args[0]](ctx, repo, temp, out)
}

func build(repo, dir string, out io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	r, err := pack(repo, dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, fileURL(r.proxy))
	return nil
}
