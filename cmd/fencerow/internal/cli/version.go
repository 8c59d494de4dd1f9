package cli

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const module = "github.com/fencerow/fencerow"

// versions is what the command is made of.
type versions struct {
	Command string `json:"command"`
	Library string `json:"library"`
	Go      string `json:"go"`
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this command and of the library in it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this binary was built without module information")
			}
			v := versions{Command: info.Main.Version, Library: libraryVersion(info), Go: info.GoVersion}
			if output == outputJSON {
				return writeJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fencerow %s, library %s, %s\n", v.Command, v.Library, v.Go)
			return err
		},
	}
	addOutput(cmd, &output)
	return cmd
}

func libraryVersion(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		if dep.Path != module {
			continue
		}
		if dep.Replace != nil || dep.Version == "(devel)" {
			return "of this source tree"
		}
		return dep.Version
	}
	return "unknown"
}
