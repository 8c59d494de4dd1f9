package modrules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

func TestRepositoryKeepsTheRules(t *testing.T) {
	dir, err := modlist.FindRepo()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	// A walk that misses the files would find nothing wrong either.
	for _, m := range r.Modules {
		if len(m.Imports) == 0 {
			t.Errorf("%s: no import was found in the whole module", m.Dir)
		}
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, broken := range rule.Check(r) {
				t.Error(broken)
			}
		})
	}
}

const root = modlist.Root

// sound is a repository that keeps every rule, and comes near to breaking some.
func sound() map[string]string {
	return map[string]string{
		"modules.txt": ". yes\nlock/x yes\ninternal/integration no\n",
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./lock/x\n\t./internal/integration\n)\n\nreplace " +
			root + " v0.1.0 => .\n",

		"go.mod":                 "module " + root + "\n\ngo 1.25.0\n",
		"go.sum":                 "\n",
		"core.go":                source("fmt", root+"/internal/clock", root+"/lock/mem"),
		"core_test.go":           source("testing", root+"/internal/clock"),
		"internal/clock/c.go":    source("time"),
		"lock/mem/m.go":          source(),
		"testdata/other/go.mod":  "module example.com/fixture\n\nreplace a.b/c => ../c\n",
		"testdata/other/main.go": source("example.com/anything"),
		"_old/old.go":            source("example.com/anything"),

		"lock/x/go.mod": "module " + root + "/lock/x\n\ngo 1.26.0\n\nrequire (\n\t" +
			root + " v0.1.0\n\texample.com/y v1.2.3\n)\n",
		"lock/x/x.go": source("example.com/y", root, root+"/internalised"),

		"internal/integration/go.mod":       "module " + root + "/internal/integration\n\ngo 1.26.0\n\nrequire " + root + " v0.1.0\n",
		"internal/integration/a_test.go":    source(root, root+"/internal/integration/servers"),
		"internal/integration/servers/s.go": source(root + "/internal/integration"),
	}
}

func source(imports ...string) string {
	text := "package p\n\n"
	for _, i := range imports {
		text += "import _ \"" + i + "\"\n"
	}
	return text
}

func load(t *testing.T, files map[string]string) *Repo {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSoundRepositoryKeepsTheRules(t *testing.T) {
	r := load(t, sound())
	for _, rule := range Rules() {
		if broken := rule.Check(r); len(broken) > 0 {
			t.Errorf("%s: %q", rule.Name, broken)
		}
	}
}

// Each case breaks one rule and no other.
func TestBrokenRules(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		rule   string
		places []string
	}{
		"root requires": {
			map[string]string{"go.mod": "module " + root + "\n\nrequire example.com/y v1.2.3\n"},
			"the root module requires nothing", []string{"go.mod:3: requires example.com/y@v1.2.3"},
		},
		"root has a tool": {
			map[string]string{"go.mod": "module " + root + "\n\ntool example.com/y/cmd\n"},
			"the root module requires nothing", []string{"go.mod:3: tool example.com/y/cmd"},
		},
		"root has sums": {
			map[string]string{"go.sum": "example.com/y v1.2.3 h1:x=\n"},
			"the root module requires nothing", []string{"go.sum is not empty"},
		},
		"root imports a stranger": {
			map[string]string{"core.go": source("example.com/y")},
			"the root module imports only the standard library and itself", []string{"core.go:3: imports example.com/y"},
		},
		"a test of the root imports a stranger": {
			map[string]string{"core_test.go": source("testing", "example.com/y")},
			"the root module imports only the standard library and itself", []string{"core_test.go:4: imports example.com/y"},
		},
		"the root imports a stranger behind a build tag": {
			map[string]string{"core_plan9.go": "//go:build never\n\n" + source("example.com/y")},
			"the root module imports only the standard library and itself", []string{"core_plan9.go:5: imports example.com/y"},
		},
		"the root imports a module above it": {
			map[string]string{"core.go": source(root + "/lock/x")},
			"the root module imports only the standard library and itself", []string{"core.go:3: imports " + root + "/lock/x"},
		},
		"the root imports a namesake": {
			map[string]string{"core.go": source(root + "2/y")},
			"the root module imports only the standard library and itself", []string{"core.go:3: imports " + root + "2/y"},
		},
		"the root uses cgo": {
			map[string]string{"core.go": source("C")},
			"the root module imports only the standard library and itself", []string{"core.go:3: imports C"},
		},
		"replace": {
			map[string]string{"lock/x/go.mod": "module " + root + "/lock/x\n\nreplace " + root + " => ../..\n"},
			"no go.mod replaces anything", []string{"lock/x/go.mod:3: replaces " + root},
		},
		"a module that no list has": {
			map[string]string{"lock/z/go.mod": "module " + root + "/lock/z\n"},
			"modules.txt, go.work and the go.mod files agree", []string{"lock/z is not in go.work", "lock/z is not in modules.txt"},
		},
		"a module that only modules.txt has": {
			map[string]string{"modules.txt": ". yes\nlock/x yes\ninternal/integration no\nlock/z yes\n"},
			"modules.txt, go.work and the go.mod files agree", []string{"lock/z is not in go.work", "lock/z is not in the go.mod files"},
		},
		"a module that go.work lacks": {
			map[string]string{"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./internal/integration\n)\n\nreplace " + root + " v0.1.0 => .\n"},
			"modules.txt, go.work and the go.mod files agree", []string{"lock/x is not in go.work"},
		},
		"a module that is not called by its folder": {
			map[string]string{"lock/x/go.mod": "module " + root + "/lock/y\n"},
			"modules.txt, go.work and the go.mod files agree",
			[]string{"lock/x/go.mod: the module is called " + root + "/lock/y, want " + root + "/lock/x"},
		},
		"another version of the root": {
			map[string]string{"lock/x/go.mod": "module " + root + "/lock/x\n\nrequire " + root + " v0.0.9\n"},
			"modules require each other at the version of the next release",
			[]string{"lock/x/go.mod:3: requires " + root + "@v0.0.9, want v0.1.0"},
		},
		"a released module on an unreleased one": {
			map[string]string{"lock/x/go.mod": "module " + root + "/lock/x\n\nrequire " + root + "/internal/integration v0.1.0\n"},
			"released modules do not require unreleased ones",
			[]string{"lock/x/go.mod:3: requires " + root + "/internal/integration"},
		},
		"an adapter imports internal": {
			map[string]string{"lock/x/x.go": source(root + "/internal/clock")},
			"no other module imports the root's internal packages", []string{"lock/x/x.go:3: imports " + root + "/internal/clock"},
		},
		"an adapter's test imports integration": {
			map[string]string{"lock/x/x_test.go": source(root + "/internal/integration/servers")},
			"no other module imports the root's internal packages",
			[]string{"lock/x/x_test.go:3: imports " + root + "/internal/integration/servers"},
		},
		"integration imports internal": {
			map[string]string{"internal/integration/a_test.go": source(root + "/internal/clock")},
			"no other module imports the root's internal packages",
			[]string{"internal/integration/a_test.go:3: imports " + root + "/internal/clock"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := sound()
			for file, text := range c.change {
				files[file] = text
			}
			r := load(t, files)
			for _, rule := range Rules() {
				var want []string
				if rule.Name == c.rule {
					want = c.places
				}
				got := rule.Check(r)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s:\n  %s\nwant:\n  %s", rule.Name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
				}
			}
		})
	}
}
