package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
)

// Handover lets the gate of a resource follow another token source, after [fencerow.Handover] has moved the resource to the other
// lock service. The mark stays: the first token of the new source that is above it is admitted, and every token of the old one is
// refused with [fencerow.ErrMismatch]. It may be repeated. A gate that has seen no claim follows whoever claims first.
//
// If the gate follows neither source the error is fencerow.ErrMismatch, and nothing was changed.
func (g *Gate) Handover(ctx context.Context, resource fencerow.Resource, from, to string) error {
	if err := resource.Validate(); err != nil {
		return err
	}
	what := fmt.Sprintf("hand over the gate of %s from %s to %s", resource, from, to)
	result, err := g.db.ExecContext(ctx, g.dialect.statement("gate_handover"), string(resource), from, to)
	if err != nil {
		return answer(what, err)
	}
	if changed, err := result.RowsAffected(); err != nil || changed > 0 {
		return err
	}
	var m gateMark
	err = g.db.QueryRowContext(ctx, g.stmt.look, string(resource)).Scan(m.dest()...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return answer(what, err)
	case m.source != to:
		return fmt.Errorf("%w: %s: the gate follows %s", fencerow.ErrMismatch, what, m.source)
	}
	return nil
}
