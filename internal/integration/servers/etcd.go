package servers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
)

// EtcdServer is a private etcd cluster of one or more members.
type EtcdServer struct {
	Members []*EtcdMember
	dir     *workDir
}

// EtcdMember is one server of the cluster.
type EtcdMember struct {
	*Node
	Endpoint string // host:port for clients
	Data     string // its data folder
}

// EtcdOptions say how the cluster differs from a plain one.
type EtcdOptions struct {
	Members int      // default: 1
	Args    []string // more arguments for each member
	Scheme  string   // of the client URLs, default http
	Data    string   // an existing data folder, for a cluster of one that was restored from a snapshot
}

// StartEtcd starts a cluster and waits until it serves. Call Stop after a nil error. The error is an exec.ErrNotFound if the
// program is not installed.
func StartEtcd(ctx context.Context, opts EtcdOptions) (*EtcdServer, error) {
	path, err := findProgram("etcd", "etcd")
	if err != nil {
		return nil, err
	}
	dir, err := newWorkDir("etcd", account{})
	if err != nil {
		return nil, err
	}
	s := &EtcdServer{dir: dir}
	for try := 1; ; try++ {
		if err = s.start(ctx, path, opts); err == nil {
			return s, nil
		}
		if try == tries || !portTaken(err) {
			return nil, errors.Join(err, dir.remove())
		}
	}
}

func (s *EtcdServer) start(ctx context.Context, path string, opts EtcdOptions) error {
	count := max(opts.Members, 1)
	ports, err := freePorts(2 * count)
	if err != nil {
		return err
	}
	scheme := opts.Scheme
	if scheme == "" {
		scheme = "http"
	}
	var cluster []string
	for i := range count {
		cluster = append(cluster, fmt.Sprintf("n%d=http://127.0.0.1:%d", i, ports[2*i+1]))
	}
	s.Members = nil
	for i := range count {
		m := &EtcdMember{Endpoint: fmt.Sprintf("127.0.0.1:%d", ports[2*i]), Data: opts.Data}
		if m.Data == "" {
			m.Data = filepath.Join(s.dir.path, fmt.Sprintf("n%d-%d", i, ports[2*i]))
		}
		client, peer := scheme+"://"+m.Endpoint, fmt.Sprintf("http://127.0.0.1:%d", ports[2*i+1])
		dir, err := s.dir.sub(fmt.Sprintf("log%d", i))
		if err != nil {
			return err
		}
		m.Node = &Node{program: program{
			name: "etcd",
			path: path,
			args: append([]string{"--name", fmt.Sprintf("n%d", i), "--data-dir", m.Data,
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
				"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new",
				"--logger", "zap", "--log-level", "warn",
				// A lease of one second, the shortest, needs an election time-out below it.
				"--heartbeat-interval", "60", "--election-timeout", "600"}, opts.Args...),
			dir:   dir,
			stop:  syscall.SIGTERM,
			ready: m.probe(scheme),
		}}
		s.Members = append(s.Members, m)
	}
	return s.Start(ctx)
}

// Start starts all members again, after each was stopped or killed.
func (s *EtcdServer) Start(ctx context.Context) error { return startAll(ctx, nodesOf(s.Members)) }

// Endpoints returns the client endpoints of all members.
func (s *EtcdServer) Endpoints() []string {
	var all []string
	for _, m := range s.Members {
		all = append(all, m.Endpoint)
	}
	return all
}

// Address returns the endpoint of the first member.
func (s *EtcdServer) Address() string { return s.Members[0].Endpoint }

// Stop stops the members and removes their data. Members that were killed are no error.
func (s *EtcdServer) Stop() error { return errors.Join(stopAll(nodesOf(s.Members)), s.dir.remove()) }

func nodesOf(members []*EtcdMember) []*Node {
	var nodes []*Node
	for _, m := range members {
		nodes = append(nodes, m.Node)
	}
	return nodes
}

// probe asks over HTTP; a server that wants certificates is asked whether it listens.
func (m *EtcdMember) probe(scheme string) func(context.Context) error {
	if scheme != "http" {
		return func(ctx context.Context) error { return dialTCP(ctx, m.Endpoint) }
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Endpoint+"/health", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("health: %s", resp.Status)
		}
		return nil
	}
}
