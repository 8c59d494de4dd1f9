package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const module = "github.com/fencerow/fencerow"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this command and of the library in it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("this binary was built without module information")
			}
			fmt.Fprintf(cmd.OutOrStdout(), "fencerow %s, library %s, %s\n", info.Main.Version, libraryVersion(info), info.GoVersion)
			return nil
		},
	}
}

func libraryVersion(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		if dep.Path != module {
			continue
		}
		if dep.Replace != nil {
			return "of this source tree"
		}
		return dep.Version
	}
	return "unknown"
}
