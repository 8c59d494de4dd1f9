package sqlerr

import (
	"errors"
	"regexp"
	"strconv"
)

// mysqlForm is how go-sql-driver/mysql, whose errors have no method for it, begins the text of what a server answered.
var mysqlForm = regexp.MustCompile(`^Error (\d{3,5})(?: \(([0-9A-Z]{5})\))?: `)

// mysqlCode finds the error number of MySQL and MariaDB.
func mysqlCode(err error) (number int, state string, ok bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if m := mysqlForm.FindStringSubmatch(err.Error()); m != nil {
			number, _ = strconv.Atoi(m[1]) // digits
			return number, m[2], true
		}
		if joined, many := err.(interface{ Unwrap() []error }); many {
			for _, one := range joined.Unwrap() {
				if number, state, ok = mysqlCode(one); ok {
					return number, state, true
				}
			}
		}
	}
	return 0, "", false
}

func ofMySQL(number int, state string) Kind {
	switch number {
	case 1020, // MariaDB at snapshot isolation: the row has changed since it was read
		1205, // lock wait time-out: the statement was undone
		1213, // deadlock
		3572: // NOWAIT
		return Conflict
	case 1927: // MariaDB: the connection was killed
		return Unknown
	}
	if state != "" {
		return ofState(state)
	}
	return Definite
}
