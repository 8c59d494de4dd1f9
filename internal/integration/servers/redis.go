package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RedisServer is one private Redis server.
type RedisServer struct {
	*Node
	Endpoint string // host:port
	dir      *workDir
}

// StartRedis starts a server and waits until it answers. Call Stop after a nil error. The error is an exec.ErrNotFound if it is
// not installed. It syncs every write to disk unless the arguments, in the form of redis.conf with "--", say otherwise.
func StartRedis(ctx context.Context, args ...string) (*RedisServer, error) {
	path, err := findProgram("redis-server", "Redis")
	if err != nil {
		return nil, err
	}
	dir, err := newWorkDir("redis", account{})
	if err != nil {
		return nil, err
	}
	s := &RedisServer{dir: dir}
	s.Node, err = startOnFreePort(ctx, func(port int) program {
		s.Endpoint = fmt.Sprintf("127.0.0.1:%d", port)
		return program{
			name: "Redis",
			path: path,
			args: append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir.path,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0",
				"--enable-debug-command", "yes", "--daemonize", "no"}, args...),
			dir:  dir.path,
			stop: syscall.SIGTERM,
			ready: func(ctx context.Context) error {
				answer, err := s.Command(ctx, "PING")
				if err == nil && answer != "+PONG" && !strings.HasPrefix(answer, "-NOAUTH") {
					err = errors.New(answer)
				}
				return err
			},
		}
	})
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return s, nil
}

// Address returns the endpoint.
func (s *RedisServer) Address() string { return s.Endpoint }

// Stop stops the server and removes its data. One that was killed is no error.
func (s *RedisServer) Stop() error { return errors.Join(stopAll([]*Node{s.Node}), s.dir.remove()) }

// Command sends one command and returns the first line of the answer, with its type character.
func (s *RedisServer) Command(ctx context.Context, args ...string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Endpoint)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	limit, ok := ctx.Deadline()
	if !ok {
		limit = time.Now().Add(10 * time.Second)
	}
	_ = conn.SetDeadline(limit)
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := conn.Write([]byte(request.String())); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// WaitRole waits until the server says that it is a "master", or a "slave" that has caught up.
func (s *RedisServer) WaitRole(ctx context.Context, role string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for !s.hasRole(ctx, role) {
		select {
		case <-ctx.Done():
			text, err := s.Info(context.WithoutCancel(ctx), "replication")
			return fmt.Errorf("the server at %s has not become a %s: %w\n%s", s.Endpoint, role, errors.Join(ctx.Err(), err), text)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (s *RedisServer) hasRole(ctx context.Context, role string) bool {
	text, err := s.Info(ctx, "replication")
	return err == nil && strings.Contains(text, "role:"+role+"\r\n") &&
		(role == "master" || strings.Contains(text, "master_link_status:up\r\n"))
}

// WaitPair waits until one of two servers is a master and the other its replica that has caught up. On a busy machine Sentinel may
// move the role more than once.
func WaitPair(ctx context.Context, a, b *RedisServer) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if a.hasRole(ctx, "master") && b.hasRole(ctx, "slave") || b.hasRole(ctx, "master") && a.hasRole(ctx, "slave") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("neither of %s and %s has become the replica of the other: %w", a.Endpoint, b.Endpoint, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Info returns a section of the server's INFO.
func (s *RedisServer) Info(ctx context.Context, section string) (string, error) {
	cli, err := findProgram("redis-cli", "Redis")
	if err != nil {
		return "", err
	}
	_, port, _ := strings.Cut(s.Endpoint, ":")
	out, err := exec.CommandContext(ctx, cli, "-h", "127.0.0.1", "-p", port, "info", section).Output()
	return string(out), err
}

// RedisSentinels watch one master and promote its replica when it is gone.
type RedisSentinels struct {
	Endpoints []string
	nodes     []*Node
	dir       *workDir
}

// SentinelMaster is the name of the master that the sentinels watch.
const SentinelMaster = "fencerow"

// StartRedisSentinels starts three sentinels for a master that has a replica, and waits until they know each other.
func StartRedisSentinels(ctx context.Context, master *RedisServer) (*RedisSentinels, error) {
	path, err := findProgram("redis-sentinel", "Redis")
	if err != nil {
		return nil, err
	}
	dir, err := newWorkDir("redis-sentinel", account{})
	if err != nil {
		return nil, err
	}
	s := &RedisSentinels{dir: dir}
	_, masterPort, _ := strings.Cut(master.Endpoint, ":")
	for i := range 3 {
		node, err := startOnFreePort(ctx, func(port int) program {
			folder := filepath.Join(dir.path, strconv.Itoa(port))
			config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s 127.0.0.1 %s 2\n"+
				"sentinel down-after-milliseconds %s 1500\nsentinel failover-timeout %s 3000\n",
				port, folder, SentinelMaster, masterPort, SentinelMaster, SentinelMaster)
			_ = os.Mkdir(folder, 0o755) // a failure shows at the start
			_ = os.WriteFile(filepath.Join(folder, "sentinel.conf"), []byte(config), 0o644)
			endpoint := fmt.Sprintf("127.0.0.1:%d", port)
			s.Endpoints = append(s.Endpoints[:i], endpoint)
			return program{name: "Redis Sentinel", path: path, args: []string{filepath.Join(folder, "sentinel.conf")}, dir: folder,
				stop: syscall.SIGTERM, ready: func(ctx context.Context) error { return dialTCP(ctx, endpoint) }}
		})
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		s.nodes = append(s.nodes, node)
	}
	if err := s.waitAcquainted(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *RedisSentinels) waitAcquainted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cli, err := findProgram("redis-cli", "Redis")
	if err != nil {
		return err
	}
	for _, endpoint := range s.Endpoints {
		_, port, _ := strings.Cut(endpoint, ":")
		for {
			out, err := exec.CommandContext(ctx, cli, "-p", port, "sentinel", "master", SentinelMaster).Output()
			text := string(out)
			if err == nil && strings.Contains(text, "num-slaves\n1\n") && strings.Contains(text, "num-other-sentinels\n2\n") {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the sentinel at %s does not know the others: %w\n%s", endpoint, ctx.Err(), text)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

// Stop stops the sentinels and removes their data.
func (s *RedisSentinels) Stop() error { return errors.Join(stopAll(s.nodes), s.dir.remove()) }

// RedisCluster is a private cluster of masters.
type RedisCluster struct{ Masters []*RedisServer }

// StartRedisCluster starts a cluster of three masters and waits until all slots are served.
func StartRedisCluster(ctx context.Context) (*RedisCluster, error) {
	c := &RedisCluster{}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *RedisCluster) start(ctx context.Context) error {
	cli, err := findProgram("redis-cli", "Redis")
	if err != nil {
		return err
	}
	for range 3 {
		bus, err := freePorts(1)
		if err != nil {
			return err
		}
		s, err := StartRedis(ctx, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus[0]),
			"--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "5000")
		if err != nil {
			return err
		}
		c.Masters = append(c.Masters, s)
	}
	args := append([]string{"--cluster", "create"}, c.Endpoints()...)
	out, err := exec.CommandContext(ctx, cli, append(args, "--cluster-replicas", "0", "--cluster-yes")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("redis-cli --cluster create: %w\n%s", err, out)
	}
	for _, s := range c.Masters {
		if err := s.waitClusterOK(ctx, cli); err != nil {
			return err
		}
	}
	return nil
}

// Endpoints returns those of all masters.
func (c *RedisCluster) Endpoints() []string {
	var all []string
	for _, s := range c.Masters {
		all = append(all, s.Endpoint)
	}
	return all
}

// Stop stops the servers and removes their data.
func (c *RedisCluster) Stop() error {
	var errs []error
	for _, s := range c.Masters {
		errs = append(errs, s.Stop())
	}
	return errors.Join(errs...)
}

func (s *RedisServer) waitClusterOK(ctx context.Context, cli string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	_, port, _ := strings.Cut(s.Endpoint, ":")
	for {
		out, err := exec.CommandContext(ctx, cli, "-p", port, "cluster", "info").Output()
		if err == nil && strings.Contains(string(out), "cluster_state:ok") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster node at %s is not ready: %w\n%s", s.Endpoint, ctx.Err(), out)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
