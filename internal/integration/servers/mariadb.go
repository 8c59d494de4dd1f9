package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
)

// MariaDBServer is a private MariaDB server.
type MariaDBServer struct {
	*Node
	port int
	dir  *workDir
}

// StartMariaDB starts a server without databases of ours and waits until it answers. Call Stop after a nil error.
// The error is an exec.ErrNotFound if no server programs are installed.
//
// The server does not sync to disk: tests ask what concurrent transactions see, not what a power cut leaves.
func StartMariaDB(ctx context.Context) (*MariaDBServer, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	server, err := findProgram("mariadbd", "MariaDB", "/usr/sbin")
	if err != nil {
		return nil, err
	}
	install, err := findProgram("mariadb-install-db", "MariaDB")
	if err != nil {
		return nil, err
	}
	who, err := serverAccount("mysql")
	if err != nil {
		return nil, err
	}
	dir, err := newWorkDir("mariadb", who)
	if err != nil {
		return nil, err
	}
	s := &MariaDBServer{dir: dir}
	if err = s.install(ctx, install, who); err == nil {
		s.Node, err = startOnFreePort(ctx, func(port int) program {
			s.port = port
			return s.program(server, who)
		})
	}
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return s, nil
}

// DSN returns the address of the named database for the driver "mysql". User root needs no password.
func (s *MariaDBServer) DSN(database string) string {
	return fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s", s.port, database)
}

// Address returns the DSN without a database.
func (s *MariaDBServer) Address() string { return s.DSN("") }

// Stop stops the server, which breaks open connections, and removes its data.
func (s *MariaDBServer) Stop() error { return errors.Join(s.Node.Stop(), s.dir.remove()) }

func (s *MariaDBServer) data() string { return filepath.Join(s.dir.path, "data") }

func (s *MariaDBServer) install(ctx context.Context, program string, who account) error {
	// In a tmpdir that servers share, each removes at its start what another one has there.
	cmd := exec.CommandContext(ctx, program, "--no-defaults", "--datadir="+s.data(), "--tmpdir="+s.dir.path,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=8M")
	cmd.Dir = s.dir.path
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, output)
	}
	return nil
}

func (s *MariaDBServer) program(path string, who account) program {
	return program{
		name: "MariaDB",
		path: path,
		args: []string{"--no-defaults", "--datadir=" + s.data(), "--tmpdir=" + s.dir.path, "--socket=" + filepath.Join(s.dir.path, "s.sock"),
			"--pid-file=" + filepath.Join(s.dir.path, "pid"), "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.port),
			"--skip-name-resolve", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M",
			"--max-connections=300"},
		as:    who,
		dir:   s.dir.path,
		stop:  syscall.SIGTERM,
		ready: func(ctx context.Context) error { return pingSQL(ctx, "mysql", s.Address()) },
	}
}
