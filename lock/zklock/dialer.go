package zklock

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// dialer makes the connections of a Service. It reads the session timeout that the ensemble agrees to off the first packet of
// each, because the client library keeps it to itself, and can cut them all, which ends no session.
type dialer struct {
	dial zk.Dialer

	mu      sync.Mutex
	timeout time.Duration
	last    error // of the latest attempt that failed
	cut     bool
	current net.Conn
}

var errCut = errors.New("zklock: service is closed")

func (d *dialer) connect(network, address string, timeout time.Duration) (net.Conn, error) {
	d.mu.Lock()
	cut := d.cut
	d.mu.Unlock()
	if cut {
		return nil, errCut
	}
	c, err := d.dial(network, address, timeout)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
	if err != nil {
		return nil, err
	}
	if d.cut {
		_ = c.Close()
		return nil, errCut
	}
	d.current = c
	return &firstPacket{Conn: c, dialer: d}, nil
}

// agreed returns the session timeout, 0 before there is a session.
func (d *dialer) agreed() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.timeout
}

func (d *dialer) lastError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *dialer) cutAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = true
	if d.current != nil {
		_ = d.current.Close()
	}
}

// firstPacket is a connection whose first packet from the server is looked at: its length, the protocol version, the timeout in
// milliseconds and the session id, in 4, 4, 4 and 8 bytes. An expired session has the id 0.
type firstPacket struct {
	net.Conn
	dialer *dialer
	head   []byte // read by the client library from one goroutine
}

const headLength = 20

func (c *firstPacket) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if missing := headLength - len(c.head); missing > 0 && n > 0 {
		c.head = append(c.head, p[:min(n, missing)]...)
		if len(c.head) == headLength && binary.BigEndian.Uint64(c.head[12:]) != 0 {
			c.dialer.mu.Lock()
			c.dialer.timeout = time.Duration(binary.BigEndian.Uint32(c.head[8:])) * time.Millisecond
			c.dialer.mu.Unlock()
		}
	}
	return n, err
}
