package fencerow_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each program under testdata/misuse gets a fenced write wrong and says in a comment how the compiler must refuse it.
func TestMisuseDoesNotCompile(t *testing.T) {
	programs, err := filepath.Glob("testdata/misuse/*.go")
	if err != nil || len(programs) < 12 {
		t.Fatalf("%d wrong programs were found, %v", len(programs), err)
	}
	want := regexp.MustCompile(`(?m)^// want: (.+)$`)
	for _, program := range programs {
		t.Run(strings.TrimSuffix(filepath.Base(program), ".go"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(program)
			if err != nil {
				t.Fatal(err)
			}
			match := want.FindSubmatch(text)
			if match == nil {
				t.Fatal("the program does not say how it must fail")
			}
			output, err := compile(program)
			if err == nil {
				t.Fatal("the wrong program compiles")
			}
			if !regexp.MustCompile(string(match[1])).Match(output) {
				t.Fatalf("the compiler says\n%swhich does not match %q", output, match[1])
			}
			if n := strings.Count(string(output), program); n != 1 {
				t.Fatalf("the compiler names %d places, want only the misuse:\n%s", n, output)
			}
		})
	}
}

func TestRightUseCompiles(t *testing.T) {
	if output, err := compile("testdata/wellformed/main.go"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

func compile(program string) ([]byte, error) {
	return exec.Command("go", "build", "-o", os.DevNull, program).CombinedOutput()
}
