package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// rehearse goes through a release as its users will see it: every released module builds by itself, the command installs by
// its version, and a program that imports the core alone gets one module and nothing else.
func rehearse(ctx context.Context, repo, temp string, out io.Writer) error {
	r, err := pack(repo, temp)
	if err != nil {
		return err
	}
	gocmd, err := newGoCommand(r, temp)
	if err != nil {
		return err
	}
	work := filepath.Join(temp, "work")
	if err := r.unpackAll(work); err != nil {
		return err
	}
	for _, m := range r.modules {
		if !m.Released {
			continue
		}
		fmt.Fprintf(out, "build %s %s by itself\n", m.Path(), r.version)
		if _, err := gocmd.run(ctx, filepath.Join(work, m.Dir), nil, "build", "./..."); err != nil {
			return err
		}
	}
	if err := installCommand(ctx, gocmd, r, filepath.Join(temp, "bin"), out); err != nil {
		return err
	}
	return coreConsumer(ctx, gocmd, r, filepath.Join(temp, "consumer"), out)
}

func installCommand(ctx context.Context, gocmd *goCommand, r *release, bin string, out io.Writer) error {
	target := modlist.Root + "/cmd/fencerow@" + r.version
	fmt.Fprintf(out, "go install %s\n", target)
	if _, err := gocmd.run(ctx, filepath.Dir(bin), []string{"GOBIN=" + bin}, "install", target); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(bin, "fencerow"))
	return err
}

// coreConsumer is the test of the promise that made this repository many modules: the core adds itself and upgrades nothing.
func coreConsumer(ctx context.Context, gocmd *goCommand, r *release, dir string, out io.Writer) error {
	fmt.Fprintf(out, "a program that imports only %s\n", modlist.Root)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"go.mod":  "module example.com/consumer\n\ngo 1.25.0\n\nrequire " + modlist.Root + " " + r.version + "\n",
		"main.go": "package main\n\nimport _ \"" + modlist.Root + "\"\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	if _, err := gocmd.run(ctx, dir, nil, "mod", "tidy"); err != nil {
		return err
	}
	if _, err := gocmd.run(ctx, dir, nil, "build", "-o", os.DevNull, "."); err != nil {
		return err
	}
	list, err := gocmd.run(ctx, dir, nil, "list", "-m", "all")
	if err != nil {
		return err
	}
	want := "example.com/consumer\n" + modlist.Root + " " + r.version
	if got := strings.TrimSpace(list); got != want {
		return fmt.Errorf("a program that imports only the core gets these modules:\n%s\nwant:\n%s", got, want)
	}
	return nil
}
