package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The forms of output. JSON is described in docs/cli-json.md.
const (
	outputText = "text"
	outputJSON = "json"
)

func addOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", outputText, "form of the output: text or json")
}

func checkOutput(output string) error {
	if output != outputText && output != outputJSON {
		return usage{fmt.Errorf("--output %q: it is text or json", output)}
	}
	return nil
}

func writeJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
