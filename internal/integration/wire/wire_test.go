package wire

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// startEcho starts a server that answers each line with the line, and says what it has received.
func startEcho(t *testing.T) (addr string, received chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	received = make(chan string, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					received <- lines.Text()
					fmt.Fprintln(c, lines.Text())
				}
			}()
		}
	}()
	return listener.Addr().String(), received
}

func dial(t *testing.T, w *Wire) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answered sends a line and says whether it came back within a while.
func answered(t *testing.T, c net.Conn, line string, within time.Duration) bool {
	t.Helper()
	fmt.Fprintln(c, line)
	_ = c.SetReadDeadline(time.Now().Add(within))
	buffer := make([]byte, 100)
	n, err := c.Read(buffer)
	return err == nil && string(buffer[:n]) == line+"\n"
}

func arrived(received chan string) bool {
	select {
	case <-received:
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

func TestCarries(t *testing.T) {
	addr, _ := startEcho(t)
	if c := dial(t, Start(t, addr)); !answered(t, c, "hello", time.Second) {
		t.Error("no answer")
	}
}

func TestLosesReplies(t *testing.T) {
	addr, received := startEcho(t)
	w := Start(t, addr)
	c := dial(t, w)
	w.LoseReplies()
	if answered(t, c, "lost", 50*time.Millisecond) {
		t.Error("the reply came through")
	}
	if !arrived(received) {
		t.Error("the request did not arrive")
	}
	w.Restore()
	if answered(t, c, "again", 50*time.Millisecond) {
		t.Error("a connection whose reply was lost still works")
	}
	if !answered(t, dial(t, w), "new", time.Second) {
		t.Error("a new connection does not work")
	}
}

func TestHoldsRequests(t *testing.T) {
	addr, received := startEcho(t)
	w := Start(t, addr)
	c := dial(t, w)
	w.HoldRequests()
	if answered(t, c, "held", 50*time.Millisecond) || arrived(received) {
		t.Error("the request arrived")
	}
	w.Restore()
	if !arrived(received) {
		t.Error("the request was not delivered")
	}
	if !answered(t, dial(t, w), "new", time.Second) {
		t.Error("a new connection does not work")
	}
}

func TestCut(t *testing.T) {
	addr, _ := startEcho(t)
	w := Start(t, addr)
	c := dial(t, w)
	w.Cut()
	if answered(t, c, "cut", 50*time.Millisecond) || answered(t, dial(t, w), "cut", 50*time.Millisecond) {
		t.Error("a connection works")
	}
	w.Restore()
	if !answered(t, dial(t, w), "new", time.Second) {
		t.Error("a new connection does not work")
	}
}
