// Package benchmarks measures what the fence costs, as a ratio in one run: each round does the plain thing and the fenced thing, so
// that a busy machine slows down both.
package benchmarks

import (
	"context"
	"database/sql"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/sqllock"

	_ "modernc.org/sqlite" // the driver of the SQLite benchmarks
)

func TestMain(m *testing.M) { servers.Main(m) }

func openSQLite(b *testing.B) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bench.db")+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// beside runs two variants in turn and reports the medians and the median of their ratios.
func beside(b *testing.B, plain, fenced func() error) {
	b.Helper()
	compare(b, "plain", plain, "fenced", fenced)
}

// compare is beside with names of its own.
func compare(b *testing.B, plainName string, plain func() error, fencedName string, fenced func() error) {
	b.Helper()
	var plains, fenceds []time.Duration
	var ratios []float64
	timed := func(fn func() error) time.Duration {
		begin = time.Now()
		if err := fn(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	for b.Loop() {
		p, f := timed(plain), timed(fenced)
		plains, fenceds = append(plains, p), append(fenceds, f)
		ratios = append(ratios, float64(f)/float64(p))
	}
	slices.Sort(plains)
	slices.Sort(fenceds)
	slices.Sort(ratios)
	middle := len(ratios) / 2
	b.ReportMetric(float64(plains[middle].Microseconds()), plainName+"-µs")
	b.ReportMetric(float64(fenceds[middle].Microseconds()), fencedName+"-µs")
	b.ReportMetric(ratios[middle], "ratio")
	b.ReportMetric(0, "ns/op")
}

const account = fencerow.Resource("account/42")

var key = sqlfence.Key{42}

func BenchmarkFence(b *testing.B) {
	ctx := context.Background()
	for _, d := range []struct {
		name    string
		dialect sqlfence.Dialect
		open    func(*testing.B) *sql.DB
	}{
		{"Postgres", sqlfence.Postgres, func(b *testing.B) *sql.DB { return servers.Postgres(b) }},
		{"MariaDB", sqlfence.MySQL, func(b *testing.B) *sql.DB { return servers.MariaDB(b) }},
		{"SQLite", sqlfence.SQLite, openSQLite},
	} {
		db := d.open(b)
		must(b, db, `CREATE TABLE accounts (id bigint NOT NULL PRIMARY KEY, balance bigint NOT NULL DEFAULT 0, fence_token bigint NOT NULL DEFAULT 0,
			fence_step bigint NOT NULL DEFAULT 0, fence_grant varchar(200) NOT NULL DEFAULT '')`)
		must(b, db, "INSERT INTO accounts (id) VALUES (42), (43)")
		accounts, err := sqlfence.OpenTable(ctx, db, d.dialect,
			sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step", Grant: "fence_grant"}, nil)
		if err != nil {
			b.Fatal(err)
		}
		gate, err := sqlfence.OpenGate(ctx, db, d.dialect, nil)
		if err != nil {
			b.Fatal(err)
		}
		token := fencerowtest.Token("bench:1", account, 5)
		step := int64(0)
		next := func() fencerow.Stamp { step++; return token.Stamp(step) }
		if err := accounts.Claim(ctx, next(), key, nil); err != nil {
			b.Fatal(err)
		}
		update, read, set := "UPDATE accounts SET balance = balance - $1 WHERE id = $2", "SELECT balance FROM accounts WHERE id = $1", "UPDATE accounts SET balance = $1 WHERE id = $2"
		if d.dialect.Name() == "mysql" {
			placeholder := regexp.MustCompile(`\$\d`)
			for _, text := range []*string{&update, &read, &set} {
				*text = placeholder.ReplaceAllString(*text, "?")
			}
		}
		b.Run(d.name+"/row-update", func(b *testing.B) {
			beside(b, func() error {
				_, err := db.ExecContext(ctx, update, 1, 43)
				return err
			}, func() error {
				return accounts.Update(ctx, next(), key, sqlfence.Set("balance = balance - ?", 1))
			})
		})
		b.Run(d.name+"/transaction", func(b *testing.B) {
			beside(b, func() error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, update, 1, 43); err != nil {
					return err
				}
				return tx.Commit()
			}, func() error {
				return gate.Tx(ctx, next(), account, func(ctx context.Context, tx *sqlfence.Tx) error {
					_, err := tx.ExecContext(ctx, update, 1, 42)
					return err
				})
			})
		})
		b.Run(d.name+"/transaction-at-commit", func(b *testing.B) {
			beside(b, func() error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, update, 1, 43); err != nil {
					return err
				}
				return tx.Commit()
			}, func() error {
				return gate.TxAtCommit(ctx, next(), account, func(ctx context.Context, tx *sqlfence.Tx) error {
					_, err := tx.ExecContext(ctx, update, 1, 42)
					return err
				})
			})
		})
		b.Run(d.name+"/transaction-read-write", func(b *testing.B) {
			work := func(on interface {
				ExecContext(context.Context, string, ...any) (sql.Result, error)
				QueryRowContext(context.Context, string, ...any) *sql.Row
			}, id int) error {
				var balance int64
				if err := on.QueryRowContext(ctx, read, id).Scan(&balance); err != nil {
					return err
				}
				_, err := on.ExecContext(ctx, set, balance-1, id)
				return err
			}
			beside(b, func() error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if err := work(tx, 43); err != nil {
					return err
				}
				return tx.Commit()
			}, func() error {
				return gate.Tx(ctx, next(), account, func(_ context.Context, tx *sqlfence.Tx) error { return work(tx, 42) })
			})
		})
	}
}

// BenchmarkLock compares acquire and release through a Locker with the two statements that they are.
func BenchmarkLock(b *testing.B) {
	ctx := context.Background()
	svc, err := sqllock.Open(ctx, openSQLite(b), sqllock.SQLite)
	if err != nil {
		b.Fatal(err)
	}
	locker, err := fencerow.New(svc, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer locker.Close()
	request := driver.Request{Resource: "account/43", GrantID: "bench", Holder: "bench", TTL: time.Minute}
	b.Run("SQLite/acquire-release", func(b *testing.B) {
		beside(b, func() error {
			g, err := svc.Acquire(ctx, request)
			if err != nil {
				return err
			}
			return svc.Release(ctx, g)
		}, func() error {
			return locker.Do(ctx, account, func(context.Context, *fencerow.Lease) error { return nil })
		})
	})
}

func must(b *testing.B, db *sql.DB, statement string) {
	b.Helper()
	if _, err := db.Exec(statement); err != nil {
		b.Fatal(err)
	}
}
