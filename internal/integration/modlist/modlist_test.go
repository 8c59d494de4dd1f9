package modlist

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := write(t, "modules.txt", "# list\n.  yes\n\nlock/x no # not yet\n")
	got, err := Read(dir)
	want := []Module{{".", true}, {"lock/x", false}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("Read: %v, %v, want %v", got, err, want)
	}
	if p := got[0].Path(); p != Root {
		t.Errorf("the root module is called %s", p)
	}
	if p := got[1].Path(); p != Root+"/lock/x" {
		t.Errorf("lock/x is called %s", p)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, complaint := range map[string]string{
		"":               "first",
		"# nothing\n":    "first",
		"x no\n. yes\n":  "first",
		".\n":            "modules.txt:1: want",
		". yes\nx may\n": "modules.txt:2: want",
		". yes no\n":     "modules.txt:1: want",
		"x yes\nx yes\n": "modules.txt:2: x is listed twice",
		"x/ yes\n":       "not a clean path",
		"/x yes\n":       "not a clean path",
		"../x yes\n":     "not a clean path",
	} {
		if list, err := Read(write(t, "modules.txt", text)); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("Read of %q: %v, %v, want an error with %q", text, list, err, complaint)
		}
	}
}

func TestNextVersion(t *testing.T) {
	dir := write(t, "go.work", "go 1.26.0\n\nuse .\n\nreplace "+Root+" v1.2.3 => .\n")
	if v, err := NextVersion(dir); err != nil || v != "v1.2.3" {
		t.Errorf("NextVersion: %q, %v, want v1.2.3", v, err)
	}
	// A replace of every version would hide a wrong requirement from the workspace.
	dir = write(t, "go.work", "go 1.26.0\n\nuse .\n\nreplace "+Root+" => .\n")
	if v, err := NextVersion(dir); err == nil {
		t.Errorf("NextVersion took %q from a replace without a version", v)
	}
}
