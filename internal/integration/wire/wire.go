// Package wire is a TCP proxy that loses replies and holds requests. A real network cannot be told to do that at a given moment.
package wire

import (
	"errors"
	"net"
	"sync"
	"testing"
)

// Wire carries connections to one server. It is a fencerowtest.Wire.
type Wire struct {
	listener net.Listener
	server   string
	done     sync.WaitGroup

	mu       sync.Mutex
	mode     mode
	restored chan struct{} // closed when the mode ends
	conns    map[*conn]struct{}
	closed   bool
}

type mode int

const (
	carry mode = iota
	loseReplies
	holdRequests
	refuse
)

type conn struct {
	client, server net.Conn
	lossy          bool // replies were lost on it
}

// New starts a proxy to the server at host:port. Close ends it.
func New(server string) (*Wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: listener, server: server, restored: make(chan struct{}), conns: map[*conn]struct{}{}}
	w.done.Go(w.accept)
	return w, nil
}

// Start is New for a test, which closes it at its end.
func Start(tb testing.TB, server string) *Wire {
	tb.Helper()
	w, err := New(server)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.Close() })
	return w
}

// Addr is where clients connect to, host:port.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// LoseReplies lets requests arrive from now on and drops their replies.
func (w *Wire) LoseReplies() { w.set(loseReplies) }

// HoldRequests keeps requests on their way from now on.
func (w *Wire) HoldRequests() { w.set(holdRequests) }

// Cut breaks all connections and lets none be made.
func (w *Wire) Cut() {
	w.set(refuse)
	w.breakThose(func(*conn) bool { return true })
}

// Restore delivers the requests that are held and carries everything again. Connections whose replies were dropped are broken.
func (w *Wire) Restore() {
	w.set(carry)
	w.breakThose(func(c *conn) bool { return c.lossy })
}

// Break breaks all connections. Clients may connect again at once.
func (w *Wire) Break() { w.breakThose(func(*conn) bool { return true }) }

// Close breaks all connections and ends the proxy.
func (w *Wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	err := w.listener.Close()
	w.set(carry)
	w.breakThose(func(*conn) bool { return true })
	w.done.Wait()
	return err
}

func (w *Wire) set(m mode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode = m
	close(w.restored)
	w.restored = make(chan struct{})
}

func (w *Wire) breakThose(which func(*conn) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		if which(c) {
			_, _ = c.client.Close(), c.server.Close()
		}
	}
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.done.Go(func() { _ = w.serve(client) })
	}
}

func (w *Wire) serve(client net.Conn) error {
	defer client.Close()
	w.mu.Lock()
	m, closed := w.mode, w.closed
	w.mu.Unlock()
	if m == refuse || closed {
		return errors.New("refused")
	}
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return err
	}
	defer server.Close()
	c := &conn{client: client, server: server}
	w.mu.Lock()
	w.conns[c] = struct{}{}
	closed = w.closed || w.mode == refuse // cut while it was made
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.conns, c)
		w.mu.Unlock()
	}()
	if closed {
		return nil
	}
	w.done.Go(func() {
		defer client.Close()
		w.pump(c, server, client, loseReplies)
	})
	w.pump(c, client, server, holdRequests)
	return nil
}

// pump carries what comes from one side to the other. While the mode is the one given, replies are dropped and requests wait.
func (w *Wire) pump(c *conn, from, to net.Conn, fault mode) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !w.pass(c, fault) {
			n = 0
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass says whether to carry on what was read, after holding it if that is the fault.
func (w *Wire) pass(c *conn, fault mode) bool {
	for {
		w.mu.Lock()
		hit, restored, closed := w.mode == fault, w.restored, w.closed
		if hit && fault == loseReplies {
			c.lossy = true
		}
		w.mu.Unlock()
		switch {
		case !hit || closed:
			return true
		case fault == loseReplies:
			return false
		}
		<-restored
	}
}
