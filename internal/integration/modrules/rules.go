package modrules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// Rule is one rule by name.
type Rule struct {
	Name  string
	Check func(*Repo) []string
}

// Rules returns all of them.
func Rules() []Rule {
	return []Rule{
		{"the root module requires nothing", rootRequiresNothing},
		{"the root module imports only the standard library and itself", rootImportsItself},
		{"no go.mod replaces anything", noReplace},
		{"modules.txt, go.work and the go.mod files agree", listsAgree},
		{"modules require each other at the version of the next release", siblingVersions},
		{"released modules do not require unreleased ones", releasedOnReleased},
		{"no other module imports the root's internal packages", internalStaysInside},
	}
}

// rootRequiresNothing: every require line of the root takes part in the version selection of everybody who imports the core.
func rootRequiresNothing(r *Repo) []string {
	root := r.module(".")
	if root == nil {
		return []string{"there is no go.mod in the root"}
	}
	var broken []string
	for _, require := range root.File.Require {
		broken = append(broken, place(root, require.Syntax)+": requires "+require.Mod.String())
	}
	for _, tool := range root.File.Tool {
		broken = append(broken, place(root, tool.Syntax)+": tool "+tool.Path)
	}
	if strings.TrimSpace(root.Sum) != "" {
		broken = append(broken, "go.sum is not empty")
	}
	return broken
}

// rootImportsItself: a package that needs more belongs into a module of its own, and so do tests that need more.
func rootImportsItself(r *Repo) []string {
	root := r.module(".")
	if root == nil {
		return nil
	}
	var broken []string
	for _, i := range root.Imports {
		// The go command reserves paths whose first element has no dot for the standard library.
		first, _, _ := strings.Cut(i.Path, "/")
		if i.Path == "C" || strings.Contains(first, ".") && r.provider(i.Path) != root {
			broken = append(broken, i.Where+": imports "+i.Path)
		}
	}
	return broken
}

// noReplace: "go install ...@version" refuses a module with a replace directive, and for libraries the directive has no effect.
func noReplace(r *Repo) []string {
	var broken []string
	for _, m := range r.Modules {
		for _, replace := range m.File.Replace {
			broken = append(broken, place(m, replace.Syntax)+": replaces "+replace.Old.String())
		}
	}
	return broken
}

// listsAgree: a module that a list lacks would not be tested, tidied or released.
func listsAgree(r *Repo) []string {
	var broken, listed, used, exist []string
	for _, m := range r.Listed {
		listed = append(listed, m.Dir)
	}
	for _, u := range r.Work.Use {
		used = append(used, path.Clean(u.Path))
	}
	for _, m := range r.Modules {
		exist = append(exist, m.Dir)
		if want := path.Join(modlist.Root, m.Dir); m.Path() != want {
			broken = append(broken, fmt.Sprintf("%s/go.mod: the module is called %s, want %s", m.Dir, m.Path(), want))
		}
	}
	all := slices.Concat(listed, used, exist)
	slices.Sort(all)
	for _, dir := range slices.Compact(all) {
		for list, has := range map[string][]string{"modules.txt": listed, "go.work": used, "the go.mod files": exist} {
			if !slices.Contains(has, dir) {
				broken = append(broken, fmt.Sprintf("%s is not in %s", dir, list))
			}
		}
	}
	return broken
}

// siblingVersions: the modules are released together, and the workspace answers only for the version in go.work.
func siblingVersions(r *Repo) []string {
	var broken []string
	for _, m := range r.Modules {
		for _, require := range m.File.Require {
			if r.modulePath(require.Mod.Path) != nil && require.Mod.Version != r.Next {
				broken = append(broken, fmt.Sprintf("%s: requires %s, want %s", place(m, require.Syntax), require.Mod, r.Next))
			}
		}
	}
	return broken
}

// releasedOnReleased: no proxy has an unreleased module.
func releasedOnReleased(r *Repo) []string {
	released := map[string]bool{}
	for _, m := range r.Listed {
		released[m.Path()] = m.Released
	}
	var broken []string
	for _, m := range r.Modules {
		for _, require := range m.File.Require {
			if isReleased, ours := released[require.Mod.Path]; ours && !isReleased && released[m.Path()] {
				broken = append(broken, place(m, require.Syntax)+": requires "+require.Mod.Path)
			}
		}
	}
	return broken
}

// internalStaysInside: the compiler allows such an import, because it looks at paths and not at modules. It would make the
// root's internal packages an interface between modules of different versions.
func internalStaysInside(r *Repo) []string {
	var broken []string
	for _, m := range r.Modules {
		for _, i := range m.Imports {
			inside := m.Dir == "." || r.provider(i.Path) == m
			if within(i.Path, modlist.Root+"/internal") && !inside {
				broken = append(broken, i.Where+": imports "+i.Path)
			}
		}
	}
	return broken
}

func (r *Repo) module(dir string) *Module {
	return find(r.Modules, func(m *Module) bool { return m.Dir == dir })
}

func (r *Repo) modulePath(p string) *Module {
	return find(r.Modules, func(m *Module) bool { return m.Path() == p })
}

// provider returns the module of this repository that has the package, which is the one with the longest path, or nil.
func (r *Repo) provider(pkg string) *Module {
	var best *Module
	for _, m := range r.Modules {
		if within(pkg, m.Path()) && (best == nil || len(m.Path()) > len(best.Path())) {
			best = m
		}
	}
	return best
}

func find(modules []*Module, is func(*Module) bool) *Module {
	if i := slices.IndexFunc(modules, is); i >= 0 {
		return modules[i]
	}
	return nil
}

func within(p, parent string) bool { return p == parent || strings.HasPrefix(p, parent+"/") }

func place(m *Module, line *modfile.Line) string {
	return fmt.Sprintf("%s:%d", path.Join(m.Dir, "go.mod"), line.Start.Line)
}
