package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// checkFile finds out now, not after long work, that a file could not be written.
func checkFile(flag, file string) error {
	if file == "" {
		return nil
	}
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return usage{fmt.Errorf("%s %s: the folder %s does not exist", flag, file, folder)}
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return usage{fmt.Errorf("%s %s: that is a folder; name a file in it", flag, file)}
	}
	return nil
}

// checkFolder accepts a folder that is empty or does not exist yet, so that nothing is overwritten.
func checkFolder(flag, dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return usage{fmt.Errorf("%s: %w", flag, err)}
	case len(entries) > 0:
		return usage{fmt.Errorf("%s %s: the folder is not empty; name a new one, so that nothing is overwritten", flag, dir)}
	}
	return nil
}

// writeFile writes a whole file or none.
func writeFile(name string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(temp), temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
