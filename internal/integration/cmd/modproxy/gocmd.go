package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// goCommand runs the go command as a user of the release would: no workspace, our modules from the private proxy.
type goCommand struct{ env []string }

// newGoCommand prepares one for the release, with its own module cache below the folder dir.
//
// The cache is private because our modules have the same version with other content in each run; in the user's cache they
// would stay, and later runs and builds would take them. What others published is read from the user's cache as a proxy, so
// that nothing is downloaded twice.
func newGoCommand(r *release, dir string) (*goCommand, error) {
	config, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := strings.Split(string(config), "\n")
	userCache, proxy, sumDB, noSumDB, toolchain := values[0], values[1], values[2], values[3], values[4]
	proxies := []string{fileURL(r.proxy), fileURL(filepath.Join(userCache, "cache", "download")), proxy}

	return &goCommand{append(os.Environ(),
		"GOWORK=off",
		// -trimpath lets the build cache recognise the modules of others although the module cache is elsewhere in each run.
		"GOFLAGS=-mod=mod -modcacherw -trimpath",
		"GOMODCACHE="+filepath.Join(dir, "modcache"),
		"GOPROXY="+strings.Join(proxies, ","),
		"GONOSUMDB="+strings.Trim(modlist.Root+","+noSumDB, ","),
		// A GOPRIVATE of the user could go round the proxy. GONOPROXY=none would not do: any value of it makes the go command
		// look for a nested module in its cache before it asks a proxy, and stop at the parent that it finds there.
		"GOENV=off", "GOPRIVATE=", "GONOPROXY=",
		"GOSUMDB="+sumDB, "GOTOOLCHAIN="+toolchain,
	)}, nil
}

// run runs the go command in the folder dir and returns what it printed. An error holds all its output.
func (g *goCommand) run(ctx context.Context, dir string, extraEnv []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(g.env[:len(g.env):len(g.env)], "PWD="+dir), extraEnv...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, stderr.String(), stdout.String())
	}
	return stdout.String(), nil
}

func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
