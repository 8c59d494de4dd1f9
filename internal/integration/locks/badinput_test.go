package locks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/etcdlock"
	"github.com/fencerow/fencerow/lock/redislock"
	"github.com/fencerow/fencerow/lock/sqllock"
	"github.com/fencerow/fencerow/lock/zklock"
	"github.com/fencerow/fencerow/redisconn/goredis"
)

// secret stands for every password in these tests. No error may contain it.
const secret = "hunter2-s3cret"

// refused asserts that an error names the service and the remedy, and no secret.
func refused(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error does not say %q: %v", what, word, err)
		}
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("%s: the error tells the password: %v", what, err)
	}
	t.Log(what+":", err)
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certificate makes files with a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyBytes, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyBytes}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// startTLS listens with TLS and does nothing else. It stands for a server that demands TLS where only the handshake matters.
func startTLS(t *testing.T) string {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(certificate(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buffer := make([]byte, 1)
				_, _ = c.Read(buffer)
			}()
		}
	}()
	return l.Addr().String()
}

func tryEtcd(t *testing.T, config clientv3.Config) error {
	t.Helper()
	config.Logger = zap.NewNop()
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	svc, err := etcdlock.Open(ctx, client, &etcdlock.Options{Namespace: "bad-input"})
	if err == nil {
		_ = svc.Close()
	}
	return err
}

func TestEtcdBadInput(t *testing.T) {
	t.Parallel()
	server := servers.Start(t, func(ctx context.Context) (*servers.EtcdServer, error) {
		return servers.StartEtcd(ctx, servers.EtcdOptions{Args: []string{"--election-timeout", "1000"}})
	})
	address := server.Address()
	refused(t, "wrong endpoint", tryEtcd(t, clientv3.Config{Endpoints: []string{nobody(t)}}), "etcdlock", "check the endpoints")
	refused(t, "TLS to a plain server", tryEtcd(t, clientv3.Config{Endpoints: []string{"https://" + address}, TLS: &tls.Config{InsecureSkipVerify: true}}),
		"etcdlock", "plain text and the client TLS")

	certFile, keyFile := certificate(t)
	secure := servers.Start(t, func(ctx context.Context) (*servers.EtcdServer, error) {
		return servers.StartEtcd(ctx, servers.EtcdOptions{Scheme: "https", Args: []string{"--cert-file", certFile, "--key-file", keyFile}})
	})
	refused(t, "plain to a TLS server", tryEtcd(t, clientv3.Config{Endpoints: []string{"http://" + secure.Address()}}), "etcdlock", "TLS")
	refused(t, "an unknown authority", tryEtcd(t, clientv3.Config{Endpoints: []string{"https://" + secure.Address()}, TLS: &tls.Config{}}), "etcdlock", "certificates")

	svc := open(t, "etcd", address, "bad-input")
	for ttl, want := range map[time.Duration]string{time.Second: "accepts 2s or more", 1500 * time.Millisecond: "whole multiples of 1s"} {
		_, err := fencerow.New(svc, &fencerow.Options{TTL: ttl})
		refused(t, "TTL "+ttl.String(), err, "etcd:", want)
	}

	client, err := newEtcdClient(address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, user := range []string{"root", "weak"} {
		if _, err := client.UserAdd(t.Context(), user, secret); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.UserGrantRole(t.Context(), "root", "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(t, "no user", tryEtcd(t, clientv3.Config{Endpoints: []string{address}}), "etcdlock", "demands a user")
	refused(t, "no permission", tryEtcd(t, clientv3.Config{Endpoints: []string{address}, Username: "weak", Password: secret, DialTimeout: 3 * time.Second}),
		"etcdlock", `readwrite permission on the prefix "bad-input/"`)
	refused(t, "wrong password", tryEtcd(t, clientv3.Config{Endpoints: []string{address}, Username: "weak", Password: secret + "x", DialTimeout: 3 * time.Second}),
		"authentication failed")
}

func TestZooKeeperBadInput(t *testing.T) {
	t.Parallel()
	address := servers.ZooKeeper(t)
	try := func(address string, opts zklock.Options) error {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		svc, err := zklock.Open(ctx, []string{address}, &opts)
		if err == nil {
			_ = svc.Close()
		}
		return err
	}
	refused(t, "wrong endpoint", try(nobody(t), zklock.Options{}), "zklock", "check the addresses")
	secure := func(network, address string, timeout time.Duration) (net.Conn, error) {
		return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, address, &tls.Config{InsecureSkipVerify: true})
	}
	refused(t, "TLS to a plain server", try(address, zklock.Options{Dialer: secure}), "zklock")
	refused(t, "plain to a TLS server", try(startTLS(t), zklock.Options{}), "zklock", "TLS")

	// A root that belongs to somebody else.
	conn, _, err := zk.Connect([]string{address}, 5*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.AddAuth("digest", []byte("owner:"+secret)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Create("/bad-input", nil, 0, zk.DigestACL(zk.PermAll, "owner", secret)); err != nil {
		t.Fatal(err)
	}
	refused(t, "no permission", try(address, zklock.Options{Root: "/bad-input/locks"}), "zklock", "ACLs", "AuthScheme")
	refused(t, "wrong password", try(address, zklock.Options{Root: "/bad-input/locks", AuthScheme: "digest", AuthCredentials: "owner:" + secret + "x"}),
		"zklock", "ACLs", "AuthScheme")
	refused(t, "an unknown scheme", try(address, zklock.Options{AuthScheme: "magic", AuthCredentials: secret}), "zklock")
	if err := try(address, zklock.Options{Root: "/bad-input/locks", AuthScheme: "digest", AuthCredentials: "owner:" + secret}); err != nil {
		t.Errorf("the right password: %v", err)
	}
	svc := open(t, "zookeeper", address, "bad-input-ttl")
	_, err = fencerow.New(svc, &fencerow.Options{TTL: time.Second})
	refused(t, "a TTL below the session timeout", err, "zookeeper:", "accepts 1.5s or more")
	for _, root := range []string{"none", "/ends/"} {
		refused(t, "the root "+root, try(address, zklock.Options{Root: root}), "zklock", "root")
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func TestRedisBadInput(t *testing.T) {
	t.Parallel()
	try := func(opts redis.Options) error {
		opts.ContextTimeoutEnabled, opts.MaxRetries = true, -1
		client := redis.NewClient(&opts)
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		svc, err := redislock.Open(ctx, goredis.New(client), &redislock.Options{Namespace: "bad-input"})
		if err == nil {
			_ = svc.Close()
		}
		return err
	}
	plain := servers.Redis(t)
	refused(t, "wrong endpoint", try(redis.Options{Addr: nobody(t)}), "redislock", "check the address")
	refused(t, "TLS to a plain server", try(redis.Options{Addr: plain, TLSConfig: &tls.Config{InsecureSkipVerify: true}}), "redislock", "TLS")
	refused(t, "plain to a TLS server", try(redis.Options{Addr: startTLS(t)}), "redislock", "TLS")

	locked := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) {
		return servers.StartRedis(ctx, "--requirepass", secret)
	})
	refused(t, "no password", try(redis.Options{Addr: locked.Endpoint}), "redislock", "demands a password")
	refused(t, "wrong password", try(redis.Options{Addr: locked.Endpoint, Password: secret + "x"}), "redislock", "user and password")
	admin := redis.NewClient(&redis.Options{Addr: locked.Endpoint, Password: secret})
	defer admin.Close()
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "weak", "on", ">"+secret, "+ping", "+hello", "+info").Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, "no permission", try(redis.Options{Addr: locked.Endpoint, Username: "weak", Password: secret}), "redislock", "permission")
	if err := admin.ConfigSet(t.Context(), "maxmemory", "100mb").Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, "an eviction policy", try(redis.Options{Addr: locked.Endpoint, Password: secret}), "redislock", "maxmemory-policy", "noeviction")

	pair := startRedisPair(t)
	refused(t, "a replica", try(redis.Options{Addr: pair.replica.Endpoint}), "redislock", "connect to the master")
	// One that becomes a replica while it is in use.
	svc := open(t, "redis", pair.master.Endpoint, "bad-input")
	_, port, _ := strings.Cut(pair.replica.Endpoint, ":")
	for _, command := range [][]string{{"REPLICAOF", "NO", "ONE"}} {
		if answer, err := pair.replica.Command(t.Context(), command...); err != nil || answer != "+OK" {
			t.Fatal(answer, err)
		}
	}
	if answer, err := pair.master.Command(t.Context(), "REPLICAOF", "127.0.0.1", port); err != nil || answer != "+OK" {
		t.Fatal(answer, err)
	}
	_, err := svc.Acquire(t.Context(), request("g"))
	refused(t, "a master that became a replica", err, "redislock", "replica: connect to the master")

	_, err = fencerow.New(svc, nil)
	refused(t, "not opted in", err, "redis:", "AllowAsync")
	_, err = fencerow.New(svc, &fencerow.Options{AllowAsync: true, TTL: 1500 * time.Microsecond})
	refused(t, "a TTL in microseconds", err, "redis:", "whole multiples of 1ms")

	if err := admin.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"{foreign}:counter": "hello", "{foreign2}:source": "hello"} {
		if err := admin.Set(t.Context(), key, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	foreign, err := redislock.Open(t.Context(), goredis.New(admin), &redislock.Options{Namespace: "foreign"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = foreign.Acquire(t.Context(), request("g"))
	refused(t, "a counter that is not ours", err, "redislock", "not ours")
	_, err = redislock.Open(t.Context(), goredis.New(admin), &redislock.Options{Namespace: "foreign2"})
	refused(t, "a source that is not ours", err, "redislock", "not ours")
	// A counter that cannot be raised has left no lock behind.
	if n, err := admin.Exists(t.Context(), "{foreign}:lock:"+string(account)).Result(); err != nil || n != 0 {
		t.Errorf("a lock was left behind: %d, %v", n, err)
	}
	refused(t, "a namespace in braces", func() error {
		_, err := redislock.Open(t.Context(), goredis.New(admin), &redislock.Options{Namespace: "a{b}"})
		return err
	}(), "redislock", "namespace")
}

func request(grantID string) driver.Request {
	return driver.Request{Resource: string(account), GrantID: grantID, Holder: "test", TTL: time.Minute}
}

func tryDB(t *testing.T, driverName, dsn string, dialect sqllock.Dialect) error {
	t.Helper()
	db := openDB(t, driverName, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := sqllock.Open(ctx, db, dialect)
	return err
}

func execAll(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestPostgresBadInput(t *testing.T) {
	t.Parallel()
	server := servers.Start(t, servers.StartPostgres) // users belong to the whole server
	db := openDB(t, "pgx", server.Address())
	address := strings.Split(strings.TrimPrefix(server.Address(), "postgres://postgres@"), "/")[0]
	dsn := func(user, address, rest string) string {
		return "postgres://" + user + ":" + secret + "@" + address + "/" + rest
	}
	refused(t, "wrong endpoint", tryDB(t, "pgx", dsn("postgres", nobody(t), "postgres?sslmode=disable"), sqllock.Postgres), "sqllock: open postgres", "check host and port")
	refused(t, "no such user", tryDB(t, "pgx", dsn("nobody", address, "postgres?sslmode=disable"), sqllock.Postgres), "sqllock: open postgres", "user and password")
	refused(t, "no such database", tryDB(t, "pgx", dsn("postgres", address, "nowhere?sslmode=disable"), sqllock.Postgres), "sqllock: open postgres", "no such database")
	refused(t, "TLS to a plain server", tryDB(t, "pgx", dsn("postgres", address, "postgres?sslmode=require"), sqllock.Postgres), "sqllock: open postgres", "TLS")
	refused(t, "read-only", tryDB(t, "pgx", dsn("postgres", address, "postgres?sslmode=disable&default_transaction_read_only=on"), sqllock.Postgres), "sqllock: open postgres", "accepts no writes")
	refused(t, "another dialect", tryDB(t, "pgx", dsn("postgres", address, "postgres?sslmode=disable"), sqllock.MySQL), "sqllock: open mysql")

	execAll(t, db, "CREATE USER weak", "CREATE DATABASE locks")
	refused(t, "no permission to create", tryDB(t, "pgx", dsn("weak", address, "locks?sslmode=disable"), sqllock.Postgres), "sqllock: open postgres", "Dialect.Schema")
	svc := open(t, "postgres", server.URL("locks"), "")
	refused(t, "no permission to use", tryDB(t, "pgx", dsn("weak", address, "locks?sslmode=disable"), sqllock.Postgres), "sqllock: open postgres", "grant it")

	// A full disk, as the server reports it: filling a real one would hit everything else on it.
	locks := openDB(t, "pgx", server.URL("locks"))
	execAll(t, locks, `CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$ LANGUAGE plpgsql`,
		"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON fencerow_lock FOR EACH ROW EXECUTE FUNCTION full_disk()")
	_, err := svc.Acquire(t.Context(), request("g"))
	refused(t, "full disk", err, "sqllock", "no space left")
	execAll(t, locks, "DROP TRIGGER full_disk ON fencerow_lock")
	if _, err := svc.Acquire(t.Context(), request("g")); err != nil {
		t.Errorf("after the disk was freed: %v", err)
	}
	execAll(t, locks, "DROP TABLE fencerow_lock")
	_, err = svc.Acquire(t.Context(), request("h"))
	refused(t, "a dropped table", err, "sqllock: acquire", "fencerow_lock")
}

func TestMariaDBBadInput(t *testing.T) {
	t.Parallel()
	server := servers.Start(t, servers.StartMariaDB)
	db := openDB(t, "mysql", server.DSN(""))
	_, address, _ := strings.Cut(strings.TrimSuffix(server.DSN(""), ")/"), "(")
	dsn := func(user, address, rest string) string { return user + ":" + secret + "@tcp(" + address + ")/" + rest }
	execAll(t, db, "CREATE DATABASE locks", "CREATE USER weak IDENTIFIED BY '"+secret+"'", "CREATE USER strong IDENTIFIED BY '"+secret+"'", "GRANT ALL ON locks.* TO strong")
	refused(t, "wrong endpoint", tryDB(t, "mysql", dsn("weak", nobody(t), "locks"), sqllock.MySQL), "sqllock: open mysql", "check host and port")
	refused(t, "wrong password", tryDB(t, "mysql", "weak:"+secret+"x@tcp("+address+")/locks", sqllock.MySQL), "sqllock: open mysql", "user and password")
	refused(t, "no permission", tryDB(t, "mysql", dsn("weak", address, "locks"), sqllock.MySQL), "sqllock: open mysql", "grant it")
	refused(t, "no such database", tryDB(t, "mysql", "root@tcp("+address+")/nowhere", sqllock.MySQL), "sqllock: open mysql", "no such database")
	refused(t, "TLS to a plain server", tryDB(t, "mysql", dsn("strong", address, "locks?tls=true"), sqllock.MySQL), "sqllock: open mysql", "TLS")
	refused(t, "no commits", tryDB(t, "mysql", dsn("strong", address, "locks?autocommit=0"), sqllock.MySQL), "sqllock: open mysql", "autocommit")
	svc := open(t, "mariadb", dsn("strong", address, "locks"), "")
	execAll(t, db, "SET GLOBAL read_only = 1")
	_, err := svc.Acquire(t.Context(), request("g"))
	refused(t, "read-only", err, "sqllock: acquire", "accepts no writes")
	execAll(t, db, "SET GLOBAL read_only = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 2")
	refused(t, "commits that can be lost", tryDB(t, "mysql", dsn("strong", address, "locks"), sqllock.MySQL), "sqllock: open mysql", "innodb_flush_log_at_trx_commit", "set it to 1")
}

func TestSQLiteFullDisk(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	svc := open(t, "sqlite", dsn+"&_pragma=max_page_count(12)", "")
	var err error
	var granted []driver.Grant
	for i := 0; err == nil && i < 10_000; i++ {
		r := request("g")
		r.Resource = strings.Repeat("x", 200) + "/" + time.Duration(i).String()
		var g driver.Grant
		if g, err = svc.Acquire(t.Context(), r); err == nil {
			granted = append(granted, g)
		}
	}
	refused(t, "full disk", err, "sqllock: acquire", "no space left")
	for _, g := range granted {
		if err := svc.Release(t.Context(), g); err != nil {
			t.Fatalf("release on a full disk: %v", err)
		}
	}
}
