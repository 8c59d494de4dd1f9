package modrules

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// Repo is what the rules look at.
type Repo struct {
	Listed  []modlist.Module // by modules.txt
	Next    string           // version of the next release
	Work    *modfile.WorkFile
	Modules []*Module // by the go.mod files that exist
}

// Module is a folder with a go.mod.
type Module struct {
	Dir     string // relative to the repository; "." is the root module
	File    *modfile.File
	Sum     string // text of go.sum
	Imports []Import
}

// Path returns the module path.
func (m *Module) Path() string { return m.File.Module.Mod.Path }

// Import is one import in one file.
type Import struct {
	Where string // file:line
	Path  string
}

// Load reads the repository in the folder dir. Files count whatever their build tags are and test files count too, so that no
// system and no tag hides an import. What the go command never builds does not count: testdata and names with _ or . in front.
func Load(dir string) (*Repo, error) {
	r := &Repo{}
	var err error
	if r.Listed, err = modlist.Read(dir); err != nil {
		return nil, err
	}
	if r.Next, err = modlist.NextVersion(dir); err != nil {
		return nil, err
	}
	work, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return nil, err
	}
	if r.Work, err = modfile.ParseWork("go.work", work, nil); err != nil {
		return nil, err
	}
	owner := map[string]*Module{} // by folder
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		base := entry.Name()
		hidden := rel != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_"))
		switch {
		case entry.IsDir() && (hidden || base == "testdata" || base == "vendor"):
			return fs.SkipDir
		case entry.IsDir():
			owner[rel] = owner[path.Dir(rel)]
			m, err := loadModule(dir, rel)
			if m != nil {
				owner[rel] = m
				r.Modules = append(r.Modules, m)
			}
			return err
		case hidden || !strings.HasSuffix(base, ".go"):
			return nil
		}
		m := owner[path.Dir(rel)]
		if m == nil {
			return fmt.Errorf("%s belongs to no module", rel)
		}
		imports, err := loadImports(name, rel)
		m.Imports = append(m.Imports, imports...)
		return err
	})
	return r, err
}

// loadModule returns nil if the folder has no go.mod.
func loadModule(repo, dir string) (*Module, error) {
	name := path.Join(dir, "go.mod")
	text, err := os.ReadFile(filepath.Join(repo, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	if file.Module == nil {
		return nil, fmt.Errorf("%s has no module line", name)
	}
	sum, err := os.ReadFile(filepath.Join(repo, dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Module{Dir: dir, File: file, Sum: string(sum)}, nil
}

func loadImports(name, rel string) ([]Import, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []Import
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imports = append(imports, Import{fmt.Sprintf("%s:%d", rel, files.Position(spec.Pos()).Line), imported})
	}
	return imports, nil
}
