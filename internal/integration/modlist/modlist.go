// Package modlist reads modules.txt, the one list of this repository's modules, and the version they are released at next.
package modlist

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Root is the path of the root module. The path of every other module is Root followed by its folder.
const Root = "github.com/fencerow/fencerow"

// Module is one line of modules.txt.
type Module struct {
	Dir      string // relative to the repository, with slashes; "." is the root module
	Released bool
}

// Path returns the module path.
func (m Module) Path() string { return path.Join(Root, m.Dir) }

// Read returns the modules that modules.txt in the folder repo lists, in its order, the root module first.
func Read(repo string) ([]Module, error) {
	text, err := os.ReadFile(filepath.Join(repo, "modules.txt"))
	if err != nil {
		return nil, err
	}
	var list []Module
	seen := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 || (fields[1] != "yes" && fields[1] != "no") {
			return nil, fmt.Errorf("modules.txt:%d: want a folder and yes or no", i+1)
		}
		dir := fields[0]
		if dir != path.Clean(dir) || path.IsAbs(dir) || strings.HasPrefix(dir, "..") {
			return nil, fmt.Errorf("modules.txt:%d: %q is not a clean path below the repository", i+1, dir)
		}
		if seen[dir] {
			return nil, fmt.Errorf("modules.txt:%d: %s is listed twice", i+1, dir)
		}
		seen[dir] = true
		list = append(list, Module{Dir: dir, Released: fields[1] == "yes"})
	}
	if len(list) == 0 || list[0].Dir != "." {
		return nil, errors.New("modules.txt must list the root module, ., first")
	}
	return list, nil
}

// NextVersion returns the version of the next release: the one at which go.work replaces the root module.
func NextVersion(repo string) (string, error) {
	name := filepath.Join(repo, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return "", err
	}
	for _, r := range work.Replace {
		if r.Old.Path == Root && r.Old.Version != "" {
			return r.Old.Version, nil
		}
	}
	return "", fmt.Errorf("go.work does not replace a version of %s", Root)
}

// FindRepo returns the repository around the working folder: the nearest folder upwards that has a modules.txt.
func FindRepo() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "modules.txt")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no modules.txt here or above: run this inside the repository")
		}
		dir = parent
	}
}
