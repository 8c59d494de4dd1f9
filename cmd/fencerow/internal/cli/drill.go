package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/drill"
)

type drillFlags struct {
	output  string
	report  string
	image   string
	dir     string
	keep    bool
	ttl     time.Duration
	verbose bool
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
with the fence, without it, and with a check of its own lease by the worker. Everything runs on SQLite files in a temporary folder.

Exit codes: 0 the fence held and the contrast shows what it is for, 1 it did not hold or nothing was proved, 2 a wrong command
line, 3 the drill itself did not work.`,
		Example: `  fencerow drill
  fencerow drill --report drill.html
  fencerow drill --ttl 5s --verbose
  fencerow drill -o json | jq .verdict`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), stdio) },
	}
	flags := cmd.Flags()
	addOutput(cmd, &f.output)
	flags.StringVar(&f.report, "report", "", "also write a report with timelines to this HTML `file`")
	flags.StringVar(&f.image, "svg", "", "also write the timeline of the second order to this SVG `file`")
	flags.StringVar(&f.dir, "dir", "", "keep databases and logs in this `folder`, which must be empty or new")
	flags.BoolVar(&f.keep, "keep", false, "keep databases and logs in their temporary folder, and name it")
	flags.DurationVar(&f.ttl, "ttl", drill.DefaultTTL, fmt.Sprintf("length of the lease that worker A is frozen past, %v to %v", drill.MinTTL, drill.MaxTTL))
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the timeline of every run, and every check")
	_ = flags.MarkHidden("svg") // it makes the picture of the README
	return cmd
}

func (f *drillFlags) check() error {
	if f.ttl < drill.MinTTL || f.ttl > drill.MaxTTL || f.ttl%time.Millisecond != 0 {
		return usage{fmt.Errorf("--ttl %v: it is a whole number of milliseconds from %v to %v", f.ttl, drill.MinTTL, drill.MaxTTL)}
	}
	if err := checkOutput(f.output); err != nil {
		return err
	}
	if err := checkFile("--report", f.report); err != nil {
		return err
	}
	if err := checkFile("--svg", f.image); err != nil {
		return err
	}
	return checkFolder("--dir", f.dir)
}

func (f *drillFlags) run(ctx context.Context, stdio IO) error {
	if err := f.check(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show, clear := progressLine(stdio.Err, "runs")
	report, err := drill.Config{
		Open: openSQLite, Worker: []string{self, workerCommand}, TTL: f.ttl, Dir: f.dir, Keep: f.keep, Progress: show,
	}.Run(ctx)
	clear()
	if err != nil {
		if report.Dir != "" {
			fmt.Fprintf(stdio.Err, "Databases and logs are kept in %s\n", report.Dir)
		}
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
	if f.output == outputJSON {
		return writeJSON(out, report)
	}
	style := styleOf(out)
	style.Verbose = f.verbose
	if err := report.WriteText(out, style); err != nil {
		return err
	}
	_, onTerminal := terminal(out)
	switch {
	case f.report != "":
		fmt.Fprintf(out, "The report is in %s\n", f.report)
	case onTerminal && !f.verbose:
		fmt.Fprintln(out, "More: --verbose for all timelines, --report drill.html for a page with pictures.")
	}
	return nil
}
