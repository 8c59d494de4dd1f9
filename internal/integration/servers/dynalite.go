package servers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DynamoServer is one private emulator of DynamoDB.
type DynamoServer struct {
	*Node
	Endpoint string // a URL
	dir      *workDir
}

// dynalite is where install.sh puts the emulator, below the user's cache folder.
const dynalite = "fencerow/dynalite-4.0.0/node_modules/dynalite/cli.js"

// StartDynalite starts dynalite, which keeps its data in memory. It has exact numbers and no transactions. Call Stop after a nil error.
// The error is an exec.ErrNotFound if it is not installed.
func StartDynalite(ctx context.Context) (*DynamoServer, error) {
	node, err := findProgram("node", "dynalite")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cli := filepath.Join(cache, dynalite)
	if _, err := os.Stat(cli); err != nil {
		_, err = findProgram(cli, "dynalite")
		return nil, err
	}
	return startDynamo(ctx, "dynalite", node, func(port string) []string {
		return []string{cli, "--host", "127.0.0.1", "--port", port, "--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"}
	})
}

// StartDynamoDBLocal starts Amazon's emulator from its jar, whose licence binds whoever runs it. It listens on all addresses.
func StartDynamoDBLocal(ctx context.Context, jar string) (*DynamoServer, error) {
	java, err := findProgram("java", "DynamoDB Local")
	if err != nil {
		return nil, err
	}
	return startDynamo(ctx, "dynamodb-local", java, func(port string) []string {
		return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Djava.library.path=" + filepath.Join(filepath.Dir(jar), "DynamoDBLocal_lib"),
			"-jar", jar, "-inMemory", "-sharedDb", "-disableTelemetry", "-port", port}
	})
}

func startDynamo(ctx context.Context, name, path string, args func(port string) []string) (*DynamoServer, error) {
	dir, err := newWorkDir(name, account{})
	if err != nil {
		return nil, err
	}
	s := &DynamoServer{dir: dir}
	s.Node, err = startOnFreePort(ctx, func(port int) program {
		s.Endpoint = fmt.Sprintf("http://127.0.0.1:%d", port)
		return program{name: name, path: path, args: args(strconv.Itoa(port)), dir: dir.path, stop: syscall.SIGTERM,
			ready: func(ctx context.Context) error { return answers(ctx, s.Endpoint) }}
	})
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return s, nil
}

// answers returns nil if there is any answer.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

// Address returns the endpoint.
func (s *DynamoServer) Address() string { return s.Endpoint }

// Stop stops the server and removes its data. One that was killed is no error.
func (s *DynamoServer) Stop() error { return errors.Join(stopAll([]*Node{s.Node}), s.dir.remove()) }
