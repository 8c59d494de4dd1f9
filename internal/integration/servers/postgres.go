package servers

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// startLimit is how long a server may take until it answers. A loaded machine was seen to need 15 s for initdb alone.
const startLimit = 60 * time.Second

// PostgresServer is a private PostgreSQL server.
type PostgresServer struct {
	port int
	proc *process
	dir  *workDir
}

// StartPostgres starts a server with an empty cluster and waits until it answers. Call Stop after a nil error.
// The error is an exec.ErrNotFound if no server programs are installed.
//
// The server does not sync to disk: tests ask what concurrent transactions see, not what a power cut leaves.
func StartPostgres(ctx context.Context) (*PostgresServer, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	who, err := serverAccount("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := newWorkDir()
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{dir: dir}
	err = os.Chown(dir.path, who.uid, who.gid)
	if err == nil {
		err = s.initdb(ctx, bin, who)
	}
	// The free port may be taken by somebody else before the server binds it.
	for try := 0; err == nil && s.proc == nil; try++ {
		if err = s.start(ctx, bin, who); errors.Is(err, errPortTaken) && try < 3 {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return s, nil
}

// URL returns the address of the named database. User postgres, a superuser, needs no password.
func (s *PostgresServer) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Stop stops the server, which breaks open connections, and removes its data.
func (s *PostgresServer) Stop() error {
	err := s.proc.stop(syscall.SIGINT, 30*time.Second) // SIGINT is the "fast shutdown"
	return errors.Join(err, s.dir.remove())
}

func (s *PostgresServer) data() string    { return filepath.Join(s.dir.path, "data") }
func (s *PostgresServer) logFile() string { return filepath.Join(s.dir.path, "log") }

func (s *PostgresServer) initdb(ctx context.Context, bin string, who account) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", s.data(), "-U", "postgres",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = s.dir.path // the current folder may be closed to the account
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	return nil
}

var errPortTaken = errors.New("the port was taken")

// start starts the server on a free port and sets s.proc once it answers.
func (s *PostgresServer) start(ctx context.Context, bin string, who account) error {
	var err error
	if s.port, err = freePort(); err != nil {
		return err
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+s.dir.path, // not the shared one
		"-c", "fsync=off",
		"-c", "max_connections=100")
	cmd.Dir = s.dir.path
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential}
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := startProcess(cmd)
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, proc); err != nil {
		text, _ := os.ReadFile(s.logFile())
		_ = proc.stop(syscall.SIGQUIT, 5*time.Second)
		if bytes.Contains(text, []byte("Address already in use")) {
			return errPortTaken
		}
		return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, text)
	}
	s.proc = proc
	return nil
}

func (s *PostgresServer) waitReady(ctx context.Context, proc *process) error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		// Each probe has a limit of its own: one that hangs must not use up the time of the next.
		probe, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := db.PingContext(probe)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-proc.done:
			return fmt.Errorf("the server ended: %w", errors.Join(proc.err, err))
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// postgresBin returns the folder of the server programs: the newest of Debian's, which are not in PATH, or that in PATH.
func postgresBin() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range append(dirs, filepath.SplitList(os.Getenv("PATH"))...) {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("PostgreSQL server programs: %w: install them with make setup, or set %s to a running server",
		exec.ErrNotFound, PostgresEnv)
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && strings.Contains(path, "/")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
