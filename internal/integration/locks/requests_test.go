package locks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/zklock"
)

const pairs = 100

// An acquire and a release are one request each at the server, the token included.
func TestRequestsPerAcquireAndRelease(t *testing.T) {
	for kind, start := range map[string]func(*testing.T) (svc driver.LockService, count func() int){
		"etcd": func(t *testing.T) (driver.LockService, func() int) {
			s := servers.Start(t, func(ctx context.Context) (*servers.EtcdServer, error) {
				return servers.StartEtcd(ctx, servers.EtcdOptions{})
			})
			return open(t, "etcd", s.Address(), "requests"), func() int { return countEtcd(t, s.Address()) }
		},
		"zookeeper": func(t *testing.T) (driver.LockService, func() int) {
			s := servers.Start(t, func(ctx context.Context) (*servers.ZooKeeperServer, error) { return servers.StartZooKeeper(ctx, 1) })
			// The client sends a ping three times in a session timeout, and the server counts those too.
			svc, err := zklock.Open(t.Context(), s.Endpoints(), &zklock.Options{SessionTimeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = svc.Close() })
			return svc, func() int { return countZooKeeper(t, s.Members[0]) }
		},
		"redis": func(t *testing.T) (driver.LockService, func() int) {
			s := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) { return servers.StartRedis(ctx) })
			return open(t, "redis", s.Address(), "requests"), func() int { return countRedis(t, s) }
		},
		"postgres": func(t *testing.T) (driver.LockService, func() int) {
			s := servers.Start(t, servers.StartPostgres)
			logStatements(t, s)
			return open(t, "postgres", s.Address(), ""), func() int { return countPostgres(t, s) }
		},
		"mariadb": func(t *testing.T) (driver.LockService, func() int) {
			s := servers.Start(t, servers.StartMariaDB)
			return open(t, "mariadb", s.DSN("mysql"), ""), func() int { return countMariaDB(t, s.DSN("mysql")) }
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			svc, count := start(t)
			takeAndRelease(t, svc, 3) // what a connection, a session and a new resource cost once
			before := count()
			counting := count() - before // what a count costs by itself
			takeAndRelease(t, svc, pairs)
			if got := count() - before - 2*counting; got != 2*pairs {
				t.Errorf("%d pairs of acquire and release were %d requests, want %d", pairs, got, 2*pairs)
			}
		})
	}
}

// takeAndRelease has a TTL so long that no session is renewed meanwhile.
func takeAndRelease(t *testing.T, svc driver.LockService, n int) {
	t.Helper()
	for i := range n {
		g, err := svc.Acquire(t.Context(), driver.Request{Resource: "account/42", GrantID: fmt.Sprintf("g%d-%d", n, i), Holder: "test", TTL: time.Minute})
		if err == nil && g.Number < 1 {
			err = fmt.Errorf("the number is %d", g.Number)
		}
		if err == nil {
			err = svc.Release(t.Context(), g)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var startedForm = regexp.MustCompile(`(?m)^grpc_server_started_total\{.*\} (\d+)$`)

// countEtcd adds up the calls of all methods.
func countEtcd(t *testing.T, address string) (total int) {
	t.Helper()
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range startedForm.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		total += n
	}
	return total
}

// countZooKeeper counts the packets that were received.
func countZooKeeper(t *testing.T, m *servers.ZooKeeperMember) int {
	t.Helper()
	text, err := m.Ask(t.Context(), "srvr")
	if err != nil {
		t.Fatal(err)
	}
	return field(t, text, "Received: ")
}

// countRedis counts the scripts. What a script calls is in the server's statistics as well, but did not come from a client.
func countRedis(t *testing.T, s *servers.RedisServer) (total int) {
	t.Helper()
	text, err := s.Info(t.Context(), "commandstats")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "cmdstat_eval") {
			total += field(t, strings.ReplaceAll(line, ",", "\n"), ":calls=")
		}
	}
	return total
}

// countPostgres counts the statements in the server's log.
func countPostgres(t *testing.T, server *servers.PostgresServer) int {
	t.Helper()
	text, err := server.Log()
	if err != nil {
		t.Fatal(err)
	}
	return len(statementForm.FindAll(text, -1))
}

var statementForm = regexp.MustCompile(`LOG:  (?:statement|execute \S+): `)

func logStatements(t *testing.T, server *servers.PostgresServer) {
	t.Helper()
	db := openDB(t, "pgx", server.Address())
	for _, statement := range []string{"ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "statements are logged", func() error {
		if _, err := db.Exec("SELECT 1"); err != nil {
			return err
		}
		if countPostgres(t, server) == 0 {
			return errors.New("nothing in the log")
		}
		return nil
	})
}

// countMariaDB counts what changes or reads rows. Preparing a statement, as the driver does unless it is told to interpolate, is not
// counted.
func countMariaDB(t *testing.T, address string) (total int) {
	t.Helper()
	rows, err := openDB(t, "mysql", address).Query(
		"SHOW GLOBAL STATUS WHERE variable_name IN ('Com_insert', 'Com_update', 'Com_delete', 'Com_select')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return total
}

// field returns the number behind a label.
func field(t *testing.T, text, label string) int {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), label); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no %q in:\n%s", label, text)
	return 0
}
