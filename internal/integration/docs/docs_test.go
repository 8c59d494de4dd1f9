// Package docs holds the documentation to its word: the tests it names exist, the code it shows is executed, its links lead
// somewhere.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/modlist"
)

var testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*|\bExample_\w+`)

func TestEachTestThatTheDocsNameExists(t *testing.T) {
	repo := findRepo(t)
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	for _, file := range files(t, repo, "_test.go") {
		for _, match := range function.FindAllStringSubmatch(read(t, file), -1) {
			declared[match[1]] = true
		}
	}
	named := 0
	for _, file := range files(t, repo, ".md") {
		text := read(t, file)
		for _, at := range testName.FindAllStringIndex(text, -1) {
			if at[0] > 0 && text[at[0]-1] == '.' {
				continue // a function of a package, such as fencerowtest.TestLocks
			}
			name := text[at[0]:at[1]]
			named++
			if !declared[name] {
				t.Errorf("%s names %s, which no test file declares", relative(repo, file), name)
			}
		}
	}
	if named < 20 {
		t.Errorf("the docs name only %d tests", named)
	}
}

func TestEachCaseThatTheDocsNameExists(t *testing.T) {
	repo := findRepo(t)
	known := map[string]bool{}
	for _, c := range fencerowtest.LockCases() {
		known["lock: "+c.Name] = true
	}
	for _, c := range fencerowtest.FenceCases() {
		known["fence: "+c.Name] = true
	}
	named := regexp.MustCompile("`((?:lock|fence): [a-z0-9-]+)`")
	seen := map[string]bool{}
	for _, file := range files(t, repo, ".md") {
		for _, match := range named.FindAllStringSubmatch(read(t, file), -1) {
			seen[match[1]] = true
			if !known[match[1]] {
				t.Errorf("%s names the case %q, which the kit does not have", relative(repo, file), match[1])
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("the docs name only %d cases of the kit", len(seen))
	}
}

func TestReadmeShowsTheExecutedExample(t *testing.T) {
	repo := findRepo(t)
	_, rest, _ := strings.Cut(read(t, filepath.Join(repo, "examples/readme_test.go")), "// readme:begin\n")
	code, _, found := strings.Cut(rest, "\t// readme:end")
	if !found {
		t.Fatal("examples/readme_test.go has lost its marks")
	}
	code = regexp.MustCompile(`(?m)^\t`).ReplaceAllString(code, "")
	if !strings.Contains(read(t, filepath.Join(repo, "README.md")), "```go\n"+code+"```\n") {
		t.Errorf("README.md does not show the executed example:\n%s", code)
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	repo := findRepo(t)
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	for _, file := range files(t, repo, ".md") {
		for _, match := range link.FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s links to %s: %v", relative(repo, file), match[1], err)
			}
		}
	}
}

func findRepo(t *testing.T) string {
	t.Helper()
	repo, err := modlist.FindRepo()
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// files returns the files of the repository whose names end in suffix.
func files(t *testing.T, repo, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(repo, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case strings.HasSuffix(path, suffix):
			found = append(found, path)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files end in %s, %v", len(found), suffix, err)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func relative(repo, file string) string {
	name, err := filepath.Rel(repo, file)
	if err != nil {
		return file
	}
	return name
}
