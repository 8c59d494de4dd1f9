package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// change is a go.mod or sum file that would be written differently.
type change struct {
	name      string // relative to the repository
	old, tidy string
}

// tidyChanges runs "go mod tidy" for every module in a private copy of the repository and returns what it would change.
func tidyChanges(ctx context.Context, repo, temp string) ([]change, error) {
	r, err := pack(repo, temp)
	if err != nil {
		return nil, err
	}
	gocmd, err := newGoCommand(r, temp)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(temp, "work")
	if err := r.unpackAll(work); err != nil {
		return nil, err
	}
	var files []string
	for _, m := range r.modules {
		if err := dropOurSums(filepath.Join(work, m.Dir, "go.sum")); err != nil {
			return nil, err
		}
		if _, err := gocmd.run(ctx, filepath.Join(work, m.Dir), nil, "mod", "tidy"); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Dir, err)
		}
		files = append(files, filepath.Join(m.Dir, "go.mod"), filepath.Join(m.Dir, "go.sum"))
	}
	if err := sumWorkspace(ctx, gocmd, r, work); err != nil {
		return nil, err
	}
	return compare(repo, work, append(files, "go.work.sum"))
}

// sumWorkspace makes go.work.sum from nothing. The workspace selects higher versions than a module by itself, so it needs
// sums that no go.sum has; the go command adds them when it meets them, and a fresh clone would be dirty after its first build.
func sumWorkspace(ctx context.Context, gocmd *goCommand, r *release, work string) error {
	if err := os.Remove(filepath.Join(work, "go.work.sum")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	inWorkspace := []string{"GOWORK=", "GOFLAGS=-modcacherw"}
	if _, err := gocmd.run(ctx, work, inWorkspace, "list", "-m", "all"); err != nil {
		return err
	}
	load := []string{"list", "-e", "-deps", "-test"}
	for _, m := range r.modules {
		load = append(load, m.Path()+"/...")
	}
	_, err := gocmd.run(ctx, work, inWorkspace, load...)
	return err
}

// compare returns the changes from the folder old to the folder tidy.
func compare(old, tidy string, names []string) ([]change, error) {
	var changes []change
	for _, name := range names {
		c := change{name: name}
		var err error
		if c.old, err = readOrEmpty(filepath.Join(old, name)); err != nil {
			return nil, err
		}
		if c.tidy, err = readOrEmpty(filepath.Join(tidy, name)); err != nil {
			return nil, err
		}
		if filepath.Base(name) == "go.sum" {
			c.tidy = withoutOurs(c.tidy)
		}
		if c.old != c.tidy {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// withoutOurs drops the go.sum lines of this repository's modules. Their content changes with every commit until the
// release, so no line for them can be right in the commit that contains it. Nobody needs one: the workspace takes the
// modules from their folders, and users have the lines in their own go.sum.
func withoutOurs(sum string) string {
	var kept strings.Builder
	for line := range strings.Lines(sum) {
		path, _, _ := strings.Cut(line, " ")
		if path != modlist.Root && !strings.HasPrefix(path, modlist.Root+"/") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// dropOurSums lets the go command compute our sums anew instead of refusing those that a go.sum has.
func dropOurSums(name string) error {
	text, err := readOrEmpty(name)
	if err != nil || text == withoutOurs(text) {
		return err
	}
	return os.WriteFile(name, []byte(withoutOurs(text)), 0o666)
}

// tidy writes what tidyChanges finds until nothing is left: a changed go.mod may change those of the modules above it.
func tidy(ctx context.Context, repo, temp string, out io.Writer) error {
	for round := range 5 {
		changes, err := tidyChanges(ctx, repo, filepath.Join(temp, fmt.Sprint(round)))
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, c := range changes {
			fmt.Fprintln(out, "wrote", c.name)
			if err := writeOrRemove(filepath.Join(repo, c.name), c.tidy); err != nil {
				return err
			}
		}
	}
	return errors.New("go mod tidy did not come to an end in five rounds")
}

// tidyCheck prints what tidyChanges finds and fails if that is anything.
func tidyCheck(ctx context.Context, repo, temp string, out io.Writer) error {
	changes, err := tidyChanges(ctx, repo, temp)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := printDiff(ctx, c, temp, out); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		return errors.New("not tidy: run make tidy")
	}
	return nil
}

func printDiff(ctx context.Context, c change, temp string, out io.Writer) error {
	old, tidy := filepath.Join(temp, "old"), filepath.Join(temp, "tidy")
	if err := errors.Join(os.WriteFile(old, []byte(c.old), 0o666), os.WriteFile(tidy, []byte(c.tidy), 0o666)); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "diff", "-u", "-L", c.name, "-L", c.name+" after go mod tidy", old, tidy)
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 { // they differ
		return nil
	}
	return err
}

func readOrEmpty(name string) (string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

func writeOrRemove(name, text string) error {
	if text == "" {
		return os.Remove(name)
	}
	return os.WriteFile(name, []byte(text), 0o666)
}
