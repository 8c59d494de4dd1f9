package servers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// workDir is the temporary folder of one server. Its lock file stays locked while the process that made it lives, so that a
// later run can tell an abandoned folder, left by a test binary that ran into its time limit, from one in use.
type workDir struct {
	path string
	lock *os.File
}

const (
	workDirPrefix = "fencerow-server-"
	lockName      = "in-use"
)

// newWorkDir makes the folder of a server that runs as who; the zero account is the current user.
func newWorkDir(server string, who account) (*workDir, error) {
	removeAbandoned()
	// Under this name nobody takes it for abandoned before it is locked.
	path, err := os.MkdirTemp("", "new-"+workDirPrefix+server+"-")
	if err != nil {
		return nil, err
	}
	if who.credential != nil {
		if err := os.Chown(path, who.uid, who.gid); err != nil {
			return nil, errors.Join(err, os.RemoveAll(path))
		}
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		locked := filepath.Join(filepath.Dir(path), strings.TrimPrefix(filepath.Base(path), "new-"))
		if err = os.Rename(path, locked); err == nil {
			path = locked
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &workDir{path, lock}, nil
}

// sub makes a folder in it, for one member of a cluster.
func (d *workDir) sub(name string) (string, error) {
	path := filepath.Join(d.path, name)
	return path, os.MkdirAll(path, 0o755)
}

func (d *workDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// removeAbandoned removes the folders whose maker is gone. It is a courtesy: errors, such as those of folders that belong to
// other users, are left to the next run.
func removeAbandoned() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), workDirPrefix+"*"))
	for _, path := range paths {
		// A folder without the file is one that another process is making just now.
		lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = lock.Close()
	}
}
