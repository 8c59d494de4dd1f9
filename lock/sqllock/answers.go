package sqllock

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// answers is how the statements of a dialect answer.
type answers interface {
	// number runs a statement that answers with a number, or with sql.ErrNoRows if it was refused.
	number(ctx context.Context, db *sql.DB, query string, args ...any) (int64, error)
	// done runs a statement and reports whether it has found what it was to change.
	done(ctx context.Context, db *sql.DB, query string, args ...any) (bool, error)
	// renew runs the renewal of a dialect and returns the grant ids that were renewed.
	renew(ctx context.Context, db *sql.DB, stmt statements, grants []driver.Grant, ttl time.Duration, clock []any) (map[string]bool, error)
}

// rows answers with rows, through RETURNING.
type rows struct{}

func (rows) number(ctx context.Context, db *sql.DB, query string, args ...any) (number int64, err error) {
	err = db.QueryRowContext(ctx, query, args...).Scan(&number)
	return number, err
}

func (rows) done(ctx context.Context, db *sql.DB, query string, args ...any) (bool, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed > 0, err
}

func (rows) renew(ctx context.Context, db *sql.DB, stmt statements, grants []driver.Grant, ttl time.Duration, clock []any) (map[string]bool, error) {
	pairs := make([][2]string, len(grants))
	for i, g := range grants {
		pairs[i] = [2]string{g.Resource, g.GrantID}
	}
	list, err := json.Marshal(pairs)
	if err != nil {
		return nil, err
	}
	return queryStrings(ctx, db, stmt.renew, append([]any{string(list), int64(ttl)}, clock...)...)
}

func queryStrings(ctx context.Context, db *sql.DB, query string, args ...any) (map[string]bool, error) {
	found, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	all := map[string]bool{}
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			return nil, err
		}
		all[text] = true
	}
	return all, found.Err()
}

// insertIDs answers with the insert id of a statement, which MySQL and MariaDB let it choose and send with their reply. They
// have no RETURNING in common.
type insertIDs struct{}

func (insertIDs) number(ctx context.Context, db *sql.DB, query string, args ...any) (int64, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	id, err := result.LastInsertId()
	if err == nil && id == 0 {
		err = sql.ErrNoRows
	}
	return id, err
}

func (insertIDs) done(ctx context.Context, db *sql.DB, query string, args ...any) (bool, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	id, err := result.LastInsertId()
	return id != 0, err
}

// renew updates all at once. Only if that has changed fewer rows than there are grants, a second statement asks which are
// current: what is current then was current before, and was renewed.
func (insertIDs) renew(ctx context.Context, db *sql.DB, stmt statements, grants []driver.Grant, ttl time.Duration, _ []any) (map[string]bool, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	var resources, pairs []any
	current := map[string]bool{}
	for _, g := range grants {
		resources = append(resources, g.Resource)
		pairs = append(pairs, g.Resource, g.GrantID)
		current[g.GrantID] = true
	}
	list := append(resources, pairs...)
	result, err := db.ExecContext(ctx, expand(stmt.renew, len(grants)), append([]any{int64(ttl)}, list...)...)
	if err != nil {
		return nil, err
	}
	changed, err := result.RowsAffected()
	if err != nil || changed == int64(len(grants)) {
		return current, err
	}
	return queryStrings(ctx, db, expand(stmt.renewed, len(grants)), list...)
}

// expand puts placeholders for n grants into a statement.
func expand(query string, n int) string {
	repeat := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") }
	return strings.NewReplacer("/* resources */", repeat("?"), "/* grants */", repeat("(?, ?)")).Replace(query)
}
