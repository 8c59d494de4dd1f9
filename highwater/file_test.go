package highwater

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestFileKeepsMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.json")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		source, resource string
		number, mark     int64
		raised           bool
	}{
		{"s", "a/1", 5, 5, true},
		{"s", "a/1", 5, 5, false}, // a number that is issued twice does not pass
		{"s", "a/1", 4, 5, false},
		{"s", "a/1", math.MaxInt64, math.MaxInt64, true},
		{"s", "a/2", 1, 1, true},
		{"t", "a/1", 3, 3, true},
	} {
		// Another process: everything is read anew.
		if f, err = OpenFile(path); err != nil {
			t.Fatal(err)
		}
		mark, raised, err := f.Raise(t.Context(), step.source, "a/1", step.number)
		if step.resource != "a/1" {
			mark, raised, err = f.Raise(t.Context(), step.source, "a/2", step.number)
		}
		if err != nil || mark != step.mark || raised != step.raised {
			t.Errorf("%+v: %d, %v, %v", step, mark, raised, err)
		}
	}
	if mark, err := f.Mark(t.Context(), "s", "a/1"); err != nil || mark != math.MaxInt64 {
		t.Errorf("mark: %d, %v", mark, err)
	}
	if mark, err := f.Mark(t.Context(), "s", "none/1"); err != nil || mark != 0 {
		t.Errorf("mark of what was never granted: %d, %v", mark, err)
	}
	if highest, err := f.Highest(t.Context(), "t"); err != nil || highest != 3 {
		t.Errorf("highest: %d, %v", highest, err)
	}
	left, _ := filepath.Glob(path + ".next-*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFileThatIsNotOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.json")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path); err == nil {
		t.Error("it was opened")
	}
	if text, _ := os.ReadFile(path); string(text) != "hello" {
		t.Errorf("the file is now %q", text)
	}
}

// Of racing raises with one number exactly one raises.
func TestFileRaisesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.json")
	for number := range int64(5) {
		raised := make(chan bool, 8)
		var wg sync.WaitGroup
		for range cap(raised) {
			f, err := OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				_, ok, err := f.Raise(t.Context(), "s", "a/1", number+1)
				if err != nil {
					fmt.Println(err)
				}
				raised <- ok && err == nil
			})
		}
		wg.Wait()
		close(raised)
		count := 0
		for ok := range raised {
			if ok {
				count++
			}
		}
		if count != 1 {
			t.Errorf("number %d was raised %d times", number+1, count)
		}
	}
}
