package locks

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/highwater"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/etcdlock"
)

// Every store keeps the same promises: marks only rise, of racing raises with one number one raises, and they outlive the handle.
func TestHighWaterStores(t *testing.T) {
	table := func(driverName string, dsn func(*testing.T) string, dialect highwater.Dialect) func(*testing.T) func() (fencerow.HighWater, error) {
		return func(t *testing.T) func() (fencerow.HighWater, error) {
			address := dsn(t)
			return func() (fencerow.HighWater, error) {
				db := openDB(t, driverName, address)
				db.SetMaxOpenConns(4)
				return highwater.OpenTable(t.Context(), db, dialect)
			}
		}
	}
	mariadb := func(t *testing.T) string { return servers.MariaDBDSN(t) }
	for name, prepare := range map[string]func(*testing.T) func() (fencerow.HighWater, error){
		"postgres":            table("pgx", func(t *testing.T) string { return servers.PostgresURL(t) }, highwater.Postgres),
		"mariadb":             table("mysql", mariadb, highwater.MySQL),
		"mariadb, found rows": table("mysql", func(t *testing.T) string { return mariadb(t) + "?clientFoundRows=true" }, highwater.MySQL),
		"sqlite":              table("sqlite", sqliteDSN, highwater.SQLite),
		"file": func(t *testing.T) func() (fencerow.HighWater, error) {
			path := t.TempDir() + "/marks.json"
			return func() (fencerow.HighWater, error) { return highwater.OpenFile(path) }
		},
		"etcd": func(t *testing.T) func() (fencerow.HighWater, error) {
			client, err := newEtcdClient(servers.Etcd(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			return func() (fencerow.HighWater, error) { return etcdlock.OpenHighWater(client, "marks-test") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := prepare(t)
			store := func() fencerow.HighWater {
				h, err := open()
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			raise := func(source string, resource fencerow.Resource, number, mark int64, raised bool) {
				t.Helper()
				gotMark, gotRaised, err := store().Raise(t.Context(), source, resource, number)
				if err != nil || gotMark != mark || gotRaised != raised {
					t.Errorf("raise %s of %s to %d: %d, %v, %v, want %d, %v", resource, source, number, gotMark, gotRaised, err, mark, raised)
				}
			}
			raise("s", "a/1", 5, 5, true)
			raise("s", "a/1", 5, 5, false)
			raise("s", "a/1", 4, 5, false)
			raise("s", "A/1", 1, 1, true) // names are compared byte for byte
			raise("s", "a/1", 1<<62, 1<<62, true)
			raise("s2", "a/1", 7, 7, true) // not a part of the source s
			for source, want := range map[string]int64{"s": 1 << 62, "s2": 7, "none": 0} {
				if got, err := store().Highest(t.Context(), source); err != nil || got != want {
					t.Errorf("the highest of %s: %d, %v, want %d", source, got, err, want)
				}
			}
			if got, err := store().Mark(t.Context(), "s", "none/1"); err != nil || got != 0 {
				t.Errorf("the mark of what was never granted: %d, %v", got, err)
			}
			stores := []fencerow.HighWater{store(), store()}
			for number := range int64(5) {
				var raised atomic.Int64
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						_, ok, err := stores[i%2].Raise(t.Context(), "s", "race/1", number+1)
						if err != nil {
							t.Error(err)
						}
						if ok {
							raised.Add(1)
						}
					})
				}
				wg.Wait()
				if raised.Load() != 1 {
					t.Errorf("number %d was raised %d times", number+1, raised.Load())
				}
			}
		})
	}
}
