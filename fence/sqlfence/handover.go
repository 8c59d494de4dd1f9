package sqlfence

import (
	"context"
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
	args := g.stmt.handover.args(values{"resource": string(resource), "from": from, "to": to})
	result, err := g.db.Exec(ctx, g.stmt.handover.text, args...)
	if err != nil {
		return answer(what, err)
	}
	if result.Rows > 0 {
		return nil
	}
	m, err := g.stmt.read(ctx, g.db, g.stmt.look, resource)
	switch {
	case err != nil:
		return answer(what, err)
	case m.Source != "" && m.Source != to:
		return fmt.Errorf("%w: %s: the gate follows %s", fencerow.ErrMismatch, what, m.Source)
	}
	return nil
}
