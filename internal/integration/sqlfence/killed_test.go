package sqlfence

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/internal/integration/servers"
)

// The test binary runs itself as a writer: a real process, to be killed between sending and answer.
const writerEnv = "FENCEROW_TEST_WRITER" // driver, address, token and the first step, one in each line

func actAsWriter() {
	config := strings.Split(os.Getenv(writerEnv), "\n")
	if len(config) != 4 {
		return
	}
	fmt.Println("error:", write(config[0], config[1], config[2], config[3]))
	os.Exit(1)
}

var dialects = map[string]sqlfence.Dialect{"pgx": sqlfence.Postgres, "mysql": sqlfence.MySQL, "sqlite": sqlfence.SQLite}

// write debits 1 under one stamp after the other, by turns through the gate and the row, and says so before and after each.
func write(driverName, address, text, first string) error {
	db, err := sql.Open(driverName, address)
	if err != nil {
		return err
	}
	token, err := fencerow.ParseToken(text)
	if err != nil {
		return err
	}
	step, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	b := &bank{db: db}
	if b.accounts, err = sqlfence.OpenTable(ctx, db, dialects[driverName], accountSchema, nil); err != nil {
		return err
	}
	if b.gate, err = sqlfence.OpenGate(ctx, db, dialects[driverName], nil); err != nil {
		return err
	}
	for ; ; step++ {
		fmt.Println("sending", step)
		err := b.send(ctx, token.Stamp(step))
		fmt.Println("answer", step, fencerow.VerdictOf(err))
		if err != nil {
			return err
		}
	}
}

// A writer is killed at a random moment, again and again. Whoever sends its last stamp again is told what became of it, and the debits
// that were made are those that were answered.
func TestKilledWriterLeavesNoDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		d       database
		driver  string
		address func() string
		rounds  int
	}{
		"Postgres": {postgres, "pgx", func() string { return servers.PostgresURL(t) }, 200},
		"MariaDB":  {mariadb, "mysql", func() string { return servers.MariaDBDSN(t) }, 100},
		"SQLite": {sqlite, "sqlite", func() string {
			return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
		}, 100},
	} {
		address := c.address()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open(c.driver, address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			b := &bank{database: c.d, db: db}
			exec(t, db, c.d.ddl(createAccounts))
			exec(t, db, "INSERT INTO accounts (id, balance) VALUES (42, 1000)")
			b.accounts, b.gate = openFences(t, c.d, db, nil)
			token := grant(5)
			for _, err := range []error{b.gate.Claim(t.Context(), token.Stamp(1), account), b.accounts.Claim(t.Context(), token.Stamp(1), key, nil)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 1))
			step, made, found := int64(0), int64(0), 0
			for round := range c.rounds {
				last, answered := runAndKill(t, c.driver, address, token, step+1, time.Duration(rng.IntN(15000))*time.Microsecond)
				made += answered - step
				step = answered
				if last > answered { // sent, and not answered
					step = last
					err := b.send(t.Context(), token.Stamp(last))
					switch {
					case errors.Is(err, fencerow.ErrDuplicate):
						found++
					case err != nil:
						t.Fatalf("seed %d, round %d: the stamp in doubt is answered %v", seed, round, err)
					}
					made++
				}
				if balance := b.balance(t); balance != 1000-made {
					t.Fatalf("seed %d, round %d: %d debits were made and the balance is %d", seed, round, made, balance)
				}
			}
			t.Logf("%d kills, %d debits, %d of them found to have been made before the answer", c.rounds, made, found)
			if made < int64(c.rounds) {
				t.Errorf("seed %d: only %d debits in %d rounds: too little happened to prove anything", seed, made, c.rounds)
			}
		})
	}
}

// runAndKill starts a writer, kills it a while after its first word, and returns the last step that it sent and the last that was answered.
func runAndKill(t *testing.T, driverName, address string, token fencerow.Token, first int64, after time.Duration) (sent, answered int64) {
	t.Helper()
	text, err := token.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+strings.Join([]string{driverName, address, string(text), strconv.FormatInt(first, 10)}, "\n"))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answered = first - 1
	var timer *time.Timer
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		words := strings.Fields(lines.Text())
		n, err := strconv.ParseInt(words[min(1, len(words)-1)], 10, 64)
		switch {
		case err != nil:
			t.Fatalf("the writer says %q", lines.Text())
		case words[0] == "sending":
			sent = n
		case words[2] != string(fencerow.Applied):
			t.Fatalf("the writer says %q", lines.Text())
		default:
			answered = n
		}
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		}
	}
	_ = cmd.Wait() // it was killed
	return sent, answered
}
