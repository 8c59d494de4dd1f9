package main

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// repository makes a committed repository in our layout: the root, a released module above it and an unreleased one.
func repository(t *testing.T, changes map[string]string) string {
	t.Helper()
	repo := t.TempDir()
	files := map[string]string{
		"LICENSE":              "Do as you please.\n",
		".gitignore":           "/built\n",
		"modules.txt":          ". yes\ncmd/fencerow yes\nexamples no\n",
		"go.work":              "go 1.26.0\n\nuse (\n\t.\n\t./cmd/fencerow\n\t./examples\n)\n\nreplace " + modlist.Root + " v0.7.0 => .\n",
		"go.mod":               "module " + modlist.Root + "\n\ngo 1.25.0\n",
		"core.go":              "package fencerow\n",
		"driver/driver.go":     "package driver\n",
		"examples/go.mod":      "module " + modlist.Root + "/examples\n\ngo 1.26.0\n\nrequire " + modlist.Root + " v0.7.0\n",
		"examples/ex.go":       "package examples\n\nimport _ \"" + modlist.Root + "/driver\"\n",
		"cmd/fencerow/go.mod":  "module " + modlist.Root + "/cmd/fencerow\n\ngo 1.26.0\n\nrequire " + modlist.Root + " v0.7.0\n",
		"cmd/fencerow/main.go": "package main\n\nimport _ \"" + modlist.Root + "\"\n\nfunc main() {}\n",
	}
	for name, text := range changes {
		files[name] = text
	}
	write(t, repo, files)
	git(t, repo, "init", "--quiet")
	git(t, repo, "add", "--all")
	git(t, repo, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "all")
	return repo
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func zipNames(t *testing.T, archive string) []string {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		_, name, _ := strings.Cut(f.Name, "@v0.7.0/")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The zips are made from the work tree; in a clean clone they must be what git serves.
func TestZipsAreWhatGitServes(t *testing.T) {
	repo := repository(t, nil)
	r, err := pack(repo, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.modules {
		served := filepath.Join(t.TempDir(), "served.zip")
		file, err := os.Create(served)
		if err != nil {
			t.Fatal(err)
		}
		subdir := strings.TrimPrefix(m.Dir, ".")
		err = modzip.CreateFromVCS(file, module.Version{Path: m.Path(), Version: r.version}, repo, "HEAD", subdir)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		want, err := dirhash.HashZip(served, dirhash.Hash1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dirhash.HashZip(r.zips[m], dirhash.Hash1)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s\nours: %q\ngit's: %q", m.Path(), got, err, want,
				zipNames(t, r.zips[m]), zipNames(t, served))
		}
	}
}

func TestZipsFollowTheWorkTree(t *testing.T) {
	repo := repository(t, nil)
	write(t, repo, map[string]string{"new.go": "package fencerow\n", "built": "ignored"})
	if err := os.Remove(filepath.Join(repo, "driver/driver.go")); err != nil {
		t.Fatal(err)
	}
	r, err := pack(repo, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := zipNames(t, r.zips[r.modules[0]])
	want := []string{".gitignore", "LICENSE", "core.go", "go.mod", "go.work", "modules.txt", "new.go"}
	if !slices.Equal(got, want) {
		t.Errorf("the root module has %q, want %q", got, want)
	}
}

func TestOnlyReleasedModulesAreServed(t *testing.T) {
	r, err := pack(repository(t, nil), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.modules {
		_, err := os.Stat(filepath.Join(r.proxy, m.Path(), "@v", "v0.7.0.zip"))
		if (err == nil) != m.Released {
			t.Errorf("%s, released %v: %v", m.Path(), m.Released, err)
		}
	}
}

func TestTidyCheck(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]string
		diff    string // "" means tidy
	}{
		"tidy": {},
		"a requirement that nothing needs": {
			map[string]string{"examples/ex.go": "package examples\n"},
			"-require " + modlist.Root + " v0.7.0",
		},
		"a requirement that is missing": {
			map[string]string{"cmd/fencerow/go.mod": "module " + modlist.Root + "/cmd/fencerow\n\ngo 1.26.0\n"},
			"+require " + modlist.Root + " v0.7.0",
		},
		"a sum of our own module": {
			map[string]string{"examples/go.sum": modlist.Root + " v0.7.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"},
			"-" + modlist.Root + " v0.7.0/go.mod",
		},
		"a sum that nothing needs": {
			map[string]string{"cmd/fencerow/go.sum": "example.com/x v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"},
			"-example.com/x v1.0.0/go.mod",
		},
		"a workspace sum that nothing needs": {
			map[string]string{"go.work.sum": "example.com/x v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"},
			"-example.com/x v1.0.0/go.mod",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOPROXY", "off") // nothing here needs anybody else's module
			repo := repository(t, c.changes)
			var out strings.Builder
			err := tidyCheck(t.Context(), repo, t.TempDir(), &out)
			if c.diff == "" {
				if err != nil {
					t.Fatalf("%v\n%s", err, out.String())
				}
				return
			}
			if err == nil || !strings.Contains(out.String()+err.Error(), c.diff) {
				t.Fatalf("%v\n%swant an error and %q", err, out.String(), c.diff)
			}
			if err := tidy(t.Context(), repo, t.TempDir(), io.Discard); err != nil {
				t.Fatalf("tidy: %v", err)
			}
			if err := tidyCheck(t.Context(), repo, t.TempDir(), &out); err != nil {
				t.Errorf("after tidy: %v\n%s", err, out.String())
			}
		})
	}
}

func TestRehearse(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]string
		problem string
	}{
		"fine": {},
		"a replace directive breaks go install": {
			map[string]string{"cmd/fencerow/go.mod": "module " + modlist.Root + "/cmd/fencerow\n\ngo 1.26.0\n\nrequire " +
				modlist.Root + " v0.7.0\n\nreplace " + modlist.Root + " => ../..\n"},
			"replace directives",
		},
		"a dependency of the core": {
			map[string]string{
				"go.mod":  "module " + modlist.Root + "\n\ngo 1.25.0\n\nrequire " + modlist.Root + "/extra v0.7.0\n",
				"core.go": "package fencerow\n\nimport _ \"" + modlist.Root + "/extra\"\n",
				// It stands for a module of somebody else.
				"extra/go.mod":   "module " + modlist.Root + "/extra\n\ngo 1.25.0\n",
				"extra/extra.go": "package extra\n",
				"modules.txt":    ". yes\nextra yes\ncmd/fencerow yes\n",
			},
			"gets these modules",
		},
		"a module that does not build": {
			map[string]string{"cmd/fencerow/main.go": "package main\n"},
			"main is undeclared",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOPROXY", "off")
			err := rehearse(t.Context(), repository(t, c.changes), t.TempDir(), io.Discard)
			switch {
			case c.problem == "" && err != nil:
				t.Error(err)
			case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
				t.Errorf("%v, want an error with %q", err, c.problem)
			}
		})
	}
}
