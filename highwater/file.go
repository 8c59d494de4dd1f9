package highwater

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/fencerow/fencerow"
)

// File is a high-water store in a file of one host. Each raise writes it anew and syncs it to disk.
type File struct {
	path string
	mu   sync.Mutex // within this process; the lock file is for others
}

var _ fencerow.HighWater = (*File)(nil)

// marks by source and resource, as text because JSON readers elsewhere lose digits.
type marks map[string]map[string]string

// OpenFile returns the store in a file, which is created by the first raise. Several processes of one host may share it; a second
// file beside it, ending in ".lock", keeps them apart. It refuses a file that holds something else.
func OpenFile(path string) (*File, error) {
	f := &File{path: path}
	if _, err := f.read(); err != nil {
		return nil, fmt.Errorf("highwater: open: %w", err)
	}
	return f, nil
}

// Raise implements [fencerow.HighWater].
func (f *File) Raise(ctx context.Context, source string, resource fencerow.Resource, number int64) (mark int64, raised bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	unlock, err := lockFile(f.path + ".lock")
	if err != nil {
		return 0, false, fmt.Errorf("highwater: %w", err)
	}
	defer unlock()
	all, err := f.read()
	if err == nil {
		mark, err = all.mark(source, string(resource))
	}
	if err == nil && number > mark {
		if all[source] == nil {
			all[source] = map[string]string{}
		}
		all[source][string(resource)] = strconv.FormatInt(number, 10)
		mark, raised, err = number, true, f.write(all)
	}
	if err != nil {
		return 0, false, fmt.Errorf("highwater: raise the mark of %s: %w", resource, err)
	}
	return mark, raised, nil
}

// Mark implements [fencerow.HighWater].
func (f *File) Mark(_ context.Context, source string, resource fencerow.Resource) (mark int64, err error) {
	all, err := f.read()
	if err == nil {
		mark, err = all.mark(source, string(resource))
	}
	if err != nil {
		return 0, fmt.Errorf("highwater: read the mark of %s: %w", resource, err)
	}
	return mark, nil
}

// Highest implements [fencerow.HighWater].
func (f *File) Highest(_ context.Context, source string) (highest int64, err error) {
	all, err := f.read()
	for resource := range all[source] {
		mark, markErr := all.mark(source, resource)
		highest, err = max(highest, mark), errors.Join(err, markErr)
	}
	if err != nil {
		return 0, fmt.Errorf("highwater: read the highest mark of %s: %w", source, err)
	}
	return highest, nil
}

func (m marks) mark(source, resource string) (int64, error) {
	text, ok := m[source][resource]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

func (f *File) read() (marks, error) {
	all := marks{}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s holds something that is not ours: restore it, or raise each resource by hand before you remove it: %w", f.path, err)
	}
	return all, nil
}

// write replaces the file, so that a crash leaves the old or the new one.
func (f *File) write(all marks) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".next-")
	if err != nil {
		return err
	}
	_, err = next.Write(append(text, '\n'))
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return syncDir(filepath.Dir(f.path))
}
