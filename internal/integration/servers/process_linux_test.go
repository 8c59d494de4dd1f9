package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const actAsParent = "FENCEROW_TEST_ACT_AS_PARENT"

// The test binary runs itself as a parent, which is killed while its child, standing for a server, sleeps.
func TestServerDiesWithItsParent(t *testing.T) {
	if os.Getenv(actAsParent) != "" {
		p, err := startProcess(exec.Command("sleep", "600"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("child %d\n", p.cmd.Process.Pid)
		<-p.done
		return
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsParent$")
	parent.Env = append(os.Environ(), actAsParent+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	_, err = fmt.Fscanf(out, "child %d\n", &child)
	if killErr := parent.Process.Kill(); err != nil || killErr != nil {
		t.Fatal(err, killErr)
	}
	_ = parent.Wait()
	for deadline := time.Now().Add(10 * time.Second); running(child); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(child, syscall.SIGKILL)
			t.Fatal("the server outlives its parent")
		}
	}
}

// running takes a zombie for dead: it may wait long for its new parent to notice.
func running(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z")
}
