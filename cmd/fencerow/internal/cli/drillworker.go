package cli

import (
	"database/sql"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/drill"

	_ "modernc.org/sqlite" // the embedded default
)

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
