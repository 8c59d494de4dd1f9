package servers

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// workDir is the temporary folder of one server. Its lock file stays locked while the process that made it lives, so that a
// later run can tell an abandoned folder, left by a test binary that ran into its time limit, from one in use.
type workDir struct {
	path string
	lock *os.File
}

const (
	workDirPattern = "fencerow-postgres-"
	lockName       = "in-use"
)

func newWorkDir() (*workDir, error) {
	removeAbandoned()
	path, err := os.MkdirTemp("", workDirPattern)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &workDir{path, lock}, nil
}

func (d *workDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// removeAbandoned removes the folders whose maker is gone. It is a courtesy: errors, such as those of folders that belong to
// other users, are left to the next run.
func removeAbandoned() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), workDirPattern+"*"))
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
