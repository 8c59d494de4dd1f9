package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/fencerow/fencerow/internal/integration/modlist"
)

// workFile is a file of the work tree under the name that it has in a module.
type workFile struct{ name, disk string }

func (f workFile) Path() string                 { return f.name }
func (f workFile) Lstat() (fs.FileInfo, error)  { return os.Lstat(f.disk) }
func (f workFile) Open() (io.ReadCloser, error) { return os.Open(f.disk) }

// gitFiles lists what git holds or would hold after "git add --all", so that a change can be checked before it is committed.
// In a clean clone that is exactly what is committed.
func gitFiles(repo string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = repo
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w: %s", repo, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var names []string
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// A file that was deleted and not yet committed is still listed.
		if _, err := os.Lstat(filepath.Join(repo, name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// moduleFiles returns the files below the folder of m. Package zip leaves out those of modules nested in it.
// Like the go command it adds the licence of the repository to a module that has none of its own.
func moduleFiles(repo string, names []string, m modlist.Module) []zip.File {
	prefix := m.Dir + "/"
	if m.Dir == "." {
		prefix = ""
	}
	var files []zip.File
	licensed := false
	for _, name := range names {
		if inModule, ok := strings.CutPrefix(name, prefix); ok {
			files = append(files, workFile{inModule, filepath.Join(repo, name)})
			licensed = licensed || inModule == "LICENSE"
		}
	}
	if license := filepath.Join(repo, "LICENSE"); !licensed {
		if _, err := os.Stat(license); err == nil {
			files = append(files, workFile{"LICENSE", license})
		}
	}
	return files
}

// release is every module of the repository, packed as the next version.
type release struct {
	version string
	modules []modlist.Module
	proxy   string // folder that serves the released ones
	zips    map[modlist.Module]string
}

// pack makes a release below the folder dir. Modules that are not released are packed too, but the proxy does not have them.
func pack(repo, dir string) (*release, error) {
	modules, err := modlist.Read(repo)
	if err != nil {
		return nil, err
	}
	version, err := modlist.NextVersion(repo)
	if err != nil {
		return nil, err
	}
	names, err := gitFiles(repo)
	if err != nil {
		return nil, err
	}
	r := &release{version, modules, filepath.Join(dir, "proxy"), map[modlist.Module]string{}}
	for _, m := range modules {
		serve := r.proxy
		if !m.Released {
			serve = filepath.Join(dir, "unreleased")
		}
		if r.zips[m], err = publish(serve, repo, names, m, version); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// publish writes m at the version into the proxy in the folder serve, as "go help goproxy" describes, and returns its zip.
func publish(serve, repo string, names []string, m modlist.Module, version string) (string, error) {
	escaped, err := module.EscapePath(m.Path())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(serve, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	gomod, err := os.ReadFile(filepath.Join(repo, m.Dir, "go.mod"))
	if err != nil {
		return "", err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return "", err
	}
	for name, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": info, version + ".mod": gomod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return "", err
		}
	}
	archive := filepath.Join(dir, version+".zip")
	file, err := os.Create(archive)
	if err != nil {
		return "", err
	}
	err = zip.Create(file, module.Version{Path: m.Path(), Version: version}, moduleFiles(repo, names, m))
	return archive, errors.Join(err, file.Close())
}

// unpackAll writes the files of every module to its place below the folder dir.
func (r *release) unpackAll(dir string) error {
	for _, m := range r.modules {
		to := filepath.Join(dir, m.Dir)
		if err := zip.Unzip(to, module.Version{Path: m.Path(), Version: r.version}, r.zips[m]); err != nil {
			return err
		}
		for _, name := range []string{"go.mod", "go.sum"} { // unpacked files are read-only; the go command rewrites these
			if err := os.Chmod(filepath.Join(to, name), 0o666); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
