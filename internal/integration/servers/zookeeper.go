package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ZooKeeperServer is a private ZooKeeper ensemble of one or more servers.
type ZooKeeperServer struct {
	Members []*ZooKeeperMember
	dir     *workDir
}

// ZooKeeperMember is one server of the ensemble.
type ZooKeeperMember struct {
	*Node
	Endpoint string // host:port for clients
}

const zookeeperJar = "/usr/share/java/zookeeper.jar"

// StartZooKeeper starts an ensemble and waits until it serves. Call Stop after a nil error. The error is an exec.ErrNotFound if
// it is not installed. Sessions may be as short as 400 ms.
func StartZooKeeper(ctx context.Context, members int) (*ZooKeeperServer, error) {
	java, err := findProgram("java", "ZooKeeper")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(zookeeperJar); err != nil {
		_, err = findProgram(zookeeperJar, "ZooKeeper")
		return nil, err
	}
	dir, err := newWorkDir("zookeeper", account{})
	if err != nil {
		return nil, err
	}
	s := &ZooKeeperServer{dir: dir}
	for try := 1; ; try++ {
		if err = s.start(ctx, java, members); err == nil {
			return s, nil
		}
		// It writes no log, so that a taken port looks like any other early end.
		if try == tries || ctx.Err() != nil {
			return nil, errors.Join(err, dir.remove())
		}
	}
}

const zookeeperConfig = `tickTime=200
initLimit=50
syncLimit=25
dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
minSessionTimeout=400
maxSessionTimeout=60000
maxClientCnxns=0
`

func (s *ZooKeeperServer) start(ctx context.Context, java string, members int) error {
	ports, err := freePorts(3 * members)
	if err != nil {
		return err
	}
	ensemble := ""
	if members > 1 {
		ensemble = "standaloneEnabled=false\n"
		for i := range members {
			ensemble += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", i+1, ports[3*i+1], ports[3*i+2])
		}
	}
	s.Members = nil
	for i := range members {
		dir, err := s.dir.sub(fmt.Sprintf("%d-%d", i+1, ports[3*i]))
		if err != nil {
			return err
		}
		data := filepath.Join(dir, "data")
		config := fmt.Sprintf(zookeeperConfig, data, ports[3*i]) + ensemble
		err = errors.Join(os.Mkdir(data, 0o755),
			os.WriteFile(filepath.Join(data, "myid"), fmt.Appendf(nil, "%d", i+1), 0o644),
			os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(config), 0o644))
		if err != nil {
			return err
		}
		m := &ZooKeeperMember{Endpoint: fmt.Sprintf("127.0.0.1:%d", ports[3*i])}
		m.Node = &Node{program: program{
			name: "ZooKeeper",
			path: java,
			args: []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no", "-cp", zookeeperJar,
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg")},
			dir:  dir,
			stop: syscall.SIGTERM,
			ready: func(ctx context.Context) error {
				_, err := m.Mode(ctx)
				return err
			},
		}}
		s.Members = append(s.Members, m)
	}
	return s.Start(ctx)
}

// Start starts all members again, after each was stopped or killed.
func (s *ZooKeeperServer) Start(ctx context.Context) error { return startAll(ctx, s.nodes()) }

func (s *ZooKeeperServer) nodes() []*Node {
	var nodes []*Node
	for _, m := range s.Members {
		nodes = append(nodes, m.Node)
	}
	return nodes
}

// Mode returns standalone, leader or follower. A server that does not serve yet has none.
func (m *ZooKeeperMember) Mode(ctx context.Context) (string, error) {
	text, err := m.Ask(ctx, "srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if mode, ok := strings.CutPrefix(line, "Mode: "); ok {
			return strings.TrimSpace(mode), nil
		}
	}
	return "", fmt.Errorf("it says %q", text)
}

// Ask sends a command of four letters. A server may never answer one that came too early, so ctx should have a limit.
func (m *ZooKeeperMember) Ask(ctx context.Context, command string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Endpoint)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if limit, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(limit)
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

// Endpoints returns the client endpoints of all members.
func (s *ZooKeeperServer) Endpoints() []string {
	var all []string
	for _, m := range s.Members {
		all = append(all, m.Endpoint)
	}
	return all
}

// Address returns the endpoint of the first member.
func (s *ZooKeeperServer) Address() string { return s.Members[0].Endpoint }

// Stop stops the members and removes their data. Members that were killed are no error.
func (s *ZooKeeperServer) Stop() error {
	return errors.Join(stopAll(s.nodes()), s.dir.remove())
}
