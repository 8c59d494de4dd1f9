package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// PostgresServer is a private PostgreSQL server.
type PostgresServer struct {
	*Node
	port int
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
	dir, err := newWorkDir("postgres", who)
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{dir: dir}
	if err = s.initdb(ctx, bin, who); err == nil {
		s.Node, err = startOnFreePort(ctx, func(port int) program {
			s.port = port
			return s.program(bin, who)
		})
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

// Address returns the URL of the database "postgres".
func (s *PostgresServer) Address() string { return s.URL("postgres") }

// Stop stops the server, which breaks open connections, and removes its data.
func (s *PostgresServer) Stop() error { return errors.Join(s.Node.Stop(), s.dir.remove()) }

func (s *PostgresServer) data() string { return filepath.Join(s.dir.path, "data") }

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

func (s *PostgresServer) program(bin string, who account) program {
	return program{
		name: "PostgreSQL",
		path: filepath.Join(bin, "postgres"),
		args: []string{"-D", s.data(), "-p", strconv.Itoa(s.port),
			"-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=" + s.dir.path, // not the shared one
			"-c", "fsync=off",
			"-c", "max_connections=200"},
		as:    who,
		dir:   s.dir.path,
		stop:  syscall.SIGINT, // the "fast shutdown"
		ready: func(ctx context.Context) error { return pingSQL(ctx, "pgx", s.Address()) },
	}
}

// pingSQL is the readiness probe of a database server.
func pingSQL(ctx context.Context, driverName, dsn string) error {
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
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
