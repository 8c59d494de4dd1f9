//go:build unix

package drill

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a worker seen from the drill.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	events chan Event // closed when the worker has closed its output
	logs   *logBuffer
	limit  time.Duration
	ended  bool
}

// start starts a worker and gives it its instructions.
func start(argv []string, todo instructions, limit time.Duration) (*process, error) {
	p := &process{name: todo.Worker, cmd: exec.Command(argv[0], argv[1:]...), events: make(chan Event, 64), logs: new(logBuffer), limit: limit}
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.Stderr = p.logs
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", p.name, err)
	}
	go p.listen(stdout)
	line, err := json.Marshal(todo)
	if err == nil {
		_, err = p.stdin.Write(append(line, '\n'))
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("instruct worker %s: %w", p.name, err)
	}
	return p, nil
}

// listen passes the worker's events on. It ends with the worker.
func (p *process) listen(stdout io.Reader) {
	defer close(p.events)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			p.events <- m.event()
		}
	}
}

// resume lets a worker that pauses before its write go on. A frozen one finds the line when it is thawed.
func (p *process) resume() error {
	if _, err := io.WriteString(p.stdin, "go\n"); err != nil {
		return fmt.Errorf("resume worker %s: %w", p.name, err)
	}
	return nil
}

// freeze stops the worker and its children and returns when the kernel says that it has stopped.
func (p *process) freeze() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(p.limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), err == nil && pid == 0:
			continue
		case err != nil:
			return fmt.Errorf("wait for worker %s to stop: %w", p.name, err)
		case status.Stopped():
			return nil
		default:
			_ = p.reap() // its status has been taken just now
			return fmt.Errorf("worker %s has ended before it could be frozen\n%s", p.name, p.logs)
		}
	}
	return fmt.Errorf("worker %s did not stop within %v of SIGSTOP", p.name, p.limit)
}

func (p *process) thaw() error { return p.signal(syscall.SIGCONT) }

// kill ends the worker, frozen or not, and reaps it.
func (p *process) kill() {
	if p.ended {
		return
	}
	_ = p.signal(syscall.SIGKILL)
	_ = p.reap()
}

// reap waits for the end of a worker that has closed its output or was killed.
func (p *process) reap() error {
	for range p.events { // the output must be read to its end before Wait
	}
	p.ended = true
	_ = p.stdin.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("worker %s: %w\n%s", p.name, err, p.logs)
	}
	return nil
}

// signal goes to the whole process group.
func (p *process) signal(s syscall.Signal) error {
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil {
		return fmt.Errorf("%v to worker %s: %w", s, p.name, err)
	}
	return nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// logBuffer collects what a worker logs.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was logged so far.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) lines() []string {
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// save writes the log beside the database.
func (b *logBuffer) save(file string) error { return os.WriteFile(file, []byte(b.String()), 0o644) }
