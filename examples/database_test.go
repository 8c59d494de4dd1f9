package examples

import (
	"database/sql"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that the examples open
)

// openDatabase returns a SQLite database in a temporary folder, opened as package sqllock asks for it.
func openDatabase() (db *sql.DB, done func()) {
	dir, err := os.MkdirTemp("", "fencerow-example-")
	if err != nil {
		log.Fatal(err)
	}
	db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "example.db")+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

func mustExec(db *sql.DB, statement string) {
	if _, err := db.Exec(statement); err != nil {
		log.Fatal(err)
	}
}
