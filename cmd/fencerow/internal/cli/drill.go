package cli

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/drill"

	_ "modernc.org/sqlite" // the embedded default
)

type drillFlags struct {
	output string
	report string
	image  string
	dir    string
	ttl    time.Duration
	all    bool
}

func newDrill(stdio IO) *cobra.Command {
	var f drillFlags
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Freeze a real worker past its lease and see its write refused",
		Long: `Starts worker A as a real process under a short lease, lets it read an account and decide to debit it, and freezes it with
SIGSTOP. When its lease is gone, worker B takes over and does the same job. Then A is thawed and writes. The database tells who
was right: exactly one debit, under the newest token.

Three orders are drilled: B writes before A wakes; A wakes between B's read and write; B crashes after its claim. Each is drilled
with the fence, without it, and with a check of its own lease by the worker. Everything runs on SQLite files in a temporary folder.`,
		Example: `  fencerow drill
  fencerow drill --report drill.html
  fencerow drill --ttl 5s --all
  fencerow drill -o json | jq .verdict`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, stdio) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "text", "form of the output: text or json")
	flags.StringVar(&f.report, "report", "", "also write a report with timelines to this HTML `file`")
	flags.StringVar(&f.image, "svg", "", "also write the timeline of the second order to this SVG `file`")
	flags.StringVar(&f.dir, "dir", "", "keep databases and logs in this `folder`, which must be empty or new")
	flags.DurationVar(&f.ttl, "ttl", drill.DefaultTTL, "length of the lease that worker A is frozen past")
	flags.BoolVar(&f.all, "all", false, "print the timeline of every run")
	return cmd
}

func (f *drillFlags) check() error {
	if f.output != "text" && f.output != "json" {
		return usage{fmt.Errorf("--output %q: it is text or json", f.output)}
	}
	if f.ttl < drill.MinTTL || f.ttl > drill.MaxTTL || f.ttl%time.Millisecond != 0 {
		return usage{fmt.Errorf("--ttl %v: it is a whole number of milliseconds from %v to %v", f.ttl, drill.MinTTL, drill.MaxTTL)}
	}
	for flag, file := range map[string]string{"--report": f.report, "--svg": f.image} {
		if file == "" {
			continue
		}
		// Found out now, not after the drill.
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return usage{fmt.Errorf("%s %s: the folder %s does not exist", flag, file, filepath.Dir(file))}
		}
	}
	if f.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(f.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return usage{fmt.Errorf("--dir %s: %w", f.dir, err)}
	case len(entries) > 0:
		return usage{fmt.Errorf("--dir %s: the folder is not empty; name a new one, so that nothing is overwritten", f.dir)}
	}
	return nil
}

func (f *drillFlags) run(cmd *cobra.Command, stdio IO) error {
	if err := f.check(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	progress, clear := progressLine(stdio.Err)
	report, err := drill.Config{
		Open: openSQLite, Worker: []string{self, workerCommand}, TTL: f.ttl, Dir: f.dir, Progress: progress,
	}.Run(cmd.Context())
	clear()
	if err != nil {
		return err
	}
	if err := f.write(report, stdio.Out); err != nil {
		return err
	}
	if !report.Passed {
		return finding{errors.New(report.Verdict)}
	}
	return nil
}

func (f *drillFlags) write(report drill.Report, out io.Writer) error {
	if f.report != "" {
		if err := writeFile(f.report, report.WriteHTML); err != nil {
			return err
		}
	}
	if f.image != "" {
		if err := writeFile(f.image, report.WriteSVG); err != nil {
			return err
		}
	}
	if f.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	style := styleOf(out)
	style.All = f.all
	if err := report.WriteText(out, style); err != nil {
		return err
	}
	if f.report != "" {
		fmt.Fprintf(out, "\nThe report is in %s\n", f.report)
	}
	return nil
}

// writeFile writes a whole file or none.
func writeFile(name string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(temp), temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// workerCommand is the hidden command by which the drill starts this program as a worker.
const workerCommand = "drill-worker"

func newDrillWorker(stdio IO) *cobra.Command {
	return &cobra.Command{
		Use:    workerCommand,
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return drill.Work(cmd.Context(), openSQLite, stdio.In, stdio.Out, stdio.Err)
		},
	}
}

// openSQLite opens a file as package sqllock asks for it.
func openSQLite(file string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}
