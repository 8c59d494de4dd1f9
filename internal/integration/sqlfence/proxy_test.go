package sqlfence

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// cut is where the proxy breaks a connection.
type cut int

const (
	cutNothing cut = iota
	cutBefore      // the message does not reach the server
	cutAfter       // the server answers, and the answer is lost
)

// proxy stands between a client and Postgres and breaks connections at a given message. A real network cannot be told to lose
// the answer to one COMMIT.
type proxy struct {
	t        *testing.T
	listener net.Listener
	server   string
	// decide looks at each statement that the client sends.
	decide func(sql string) cut
	// hold is called after a cut, when the server knows of it and the client does not yet. It may be nil.
	hold func()
	cuts atomic.Int64
	done sync.WaitGroup
}

func startProxy(t *testing.T, server string, decide func(sql string) cut) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: listener, server: server, decide: decide}
	p.done.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.done.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { _ = listener.Close() })
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		p.t.Errorf("proxy: %v", err)
		return
	}
	defer server.Close()
	var muted atomic.Bool           // answers are lost
	answered := make(chan struct{}) // closed when the server has answered a muted message, or is gone
	p.done.Go(func() {
		defer close(answered)
		p.answers(server, client, &muted)
	})
	before := p.cuts.Load()
	p.questions(client, server, &muted, answered)
	_ = server.Close()
	<-answered
	if p.hold != nil && p.cuts.Load() > before {
		p.hold()
	}
}

// questions passes the client's messages on. A statement comes as one simple query, or is parsed under a name and then bound,
// executed and synced. It returns when a connection is cut or has ended.
func (p *proxy) questions(client, server net.Conn, muted *atomic.Bool, answered <-chan struct{}) {
	parsed := map[string]string{}
	message, err := readMessage(client, false) // the start-up message has no type
	for typed := false; err == nil; typed = true {
		verdict := cutNothing
		if typed {
			verdict = p.look(message, parsed)
		}
		if verdict == cutBefore {
			p.cuts.Add(1)
			return
		}
		if verdict == cutAfter {
			p.cuts.Add(1)
			muted.Store(true)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
		if complete := message[0] == 'Q' || message[0] == 'S'; typed && complete && muted.Load() {
			<-answered
			return
		}
		message, err = readMessage(client, true)
	}
}

// look returns what is to happen to a message.
func (p *proxy) look(message []byte, parsed map[string]string) cut {
	fields := strings.Split(string(message[5:]), "\x00")
	switch message[0] {
	case 'Q':
		return p.decide(fields[0])
	case 'P':
		parsed[fields[0]] = fields[1]
	case 'B':
		return p.decide(parsed[fields[1]])
	}
	return cutNothing
}

// answers passes the server's messages on, until one is to be lost: then it reads to the end of the answer.
func (p *proxy) answers(server, client net.Conn, muted *atomic.Bool) {
	for {
		message, err := readMessage(server, true)
		switch {
		case err != nil:
			if !muted.Load() {
				_ = client.Close() // the server has ended the session
			}
			return
		case muted.Load():
			if message[0] == 'Z' { // ready for the next: the answer is complete
				return
			}
		default:
			if _, err := client.Write(message); err != nil {
				return
			}
		}
	}
}

func readMessage(from io.Reader, typed bool) ([]byte, error) {
	header := make([]byte, 4, 5)
	if typed {
		header = header[:5]
	}
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(header[len(header)-4:]))
	message := make([]byte, len(header)+length-4)
	copy(message, header)
	_, err := io.ReadFull(from, message[len(header):])
	return message, err
}
