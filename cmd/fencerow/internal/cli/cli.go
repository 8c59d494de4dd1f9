// Package cli is the command line: one file per command. Commands parse, call the library and print; they decide nothing.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitFine           = 0
	exitFinding        = 1 // what was looked for was found: a fence that does not hold
	exitUsage          = 2 // the command line is wrong
	exitInfrastructure = 3 // something that the command needs does not work
)

// IO is where a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// finding is an error whose explanation was already printed as the command's output.
type finding struct{ error }

// usage is an error of the command line.
type usage struct{ error }

// Run executes a command line and returns the exit code.
func Run(ctx context.Context, args []string, stdio IO) int {
	root := newRoot(stdio)
	root.SetArgs(append([]string{}, args...)) // never nil, for which cobra takes the arguments of the process
	cmd, err := root.ExecuteContextC(ctx)
	var found finding
	var wrong usage
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &found):
		return exitFinding
	case errors.As(err, &wrong):
		fmt.Fprintf(stdio.Err, "fencerow: %v\nRun \"%s --help\" for what it takes.\n", err, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stdio.Err, "fencerow: %v\n", err)
	return exitInfrastructure
}

func newRoot(stdio IO) *cobra.Command {
	root := &cobra.Command{
		Use:   "fencerow",
		Short: "Distributed locks that stay safe when a worker freezes",
		Long: "Fencerow gives every grant of a lock a growing token, and lets the resource refuse the writes of an older holder.\n\n" +
			"Exit codes: 0 fine, 1 a finding, 2 a wrong command line, 3 something that the command needs does not work.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage{unknownCommand(cmd, args[0])}
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(stdio.In)
	root.SetOut(stdio.Out)
	root.SetErr(stdio.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	root.AddCommand(newDrill(stdio), newDrillWorker(stdio), newVersion())
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("there is no command %q", name)
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		text += fmt.Sprintf("; did you mean %q?", similar[0])
	}
	return errors.New(text)
}

// noArguments refuses what a command would not read.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage{fmt.Errorf("%s takes flags only, not %q", cmd.CommandPath(), args[0])}
	}
	return nil
}
