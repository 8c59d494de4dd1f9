package sqlfence

import (
	"context"
	"errors"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/sqlconn"
)

// gateStatements read and write the marks in the table fencerow_gate.
type gateStatements struct{ look, state, share, claim, admit, put, handover named }

// gateStatements returns the statements. With tells, on Postgres, those that pass the gate say so to the triggers.
func (d Dialect) gateStatements(tells bool) gateStatements {
	told := ""
	if tells && d.name == "postgres" {
		told = "_told"
	}
	return gateStatements{
		look:     d.named("gate_look"),
		state:    d.named("gate_state"),
		share:    d.named("gate_share" + told),
		claim:    d.named("gate_claim"),
		admit:    d.named("gate_admit" + told),
		put:      d.named("gate_set"),
		handover: d.named("gate_handover"),
	}
}

// GateSchema returns the statement that creates the gate's table, for a schema that is kept elsewhere.
func GateSchema(dialect Dialect) string { return dialect.statement("gate_schema") }

// openGate makes sure that the gate's table is there.
func openGate(ctx context.Context, db sqlconn.DB, dialect Dialect) error {
	return openTable(ctx, db, dialect, "gate", "open the gate: the table fencerow_gate is missing or of another shape; create it with GateSchema")
}

// openTable creates one of our own tables if it is not there.
func openTable(ctx context.Context, db sqlconn.DB, dialect Dialect, table, otherwise string) error {
	probe := dialect.statement(table + "_probe")
	if _, err := db.Exec(ctx, probe); err != nil {
		_, createErr := db.Exec(ctx, dialect.statement(table+"_schema")) // may fail only because another process creates it too
		if _, err := db.Exec(ctx, probe); err != nil {
			return refused(otherwise, errors.Join(err, createErr))
		}
	}
	return nil
}

// stampValues are the arguments that a stamp brings along.
func stampValues(stamp fencerow.Stamp) values {
	token := stamp.Token()
	return values{"resource": string(token.Resource()), "source": token.Source(), "number": token.Number(),
		"grant": token.GrantID(), "step": stamp.Step()}
}

// read returns the gate's mark; that of a resource without one is zero.
func (g gateStatements) read(ctx context.Context, on sqlconn.Querier, query named, resource fencerow.Resource) (fence.Mark, error) {
	return g.query(ctx, on, query, values{"resource": string(resource)}, resource)
}

func (g gateStatements) query(ctx context.Context, on sqlconn.Querier, query named, v values, resource fencerow.Resource) (fence.Mark, error) {
	var stored storedMark
	found := false
	err := eachRow(ctx, on, query.text, query.args(v), []any{&stored.source, &stored.number, &stored.step, &stored.grant}, func() { found = true })
	if err != nil || !found {
		return fence.Mark{}, err
	}
	return stored.mark(resource)
}

// set writes a mark that was read under its lock in the same transaction. An error is final for the transaction.
func (g gateStatements) set(ctx context.Context, on sqlconn.Querier, what string, resource fencerow.Resource, m fence.Mark) error {
	v := values{"resource": string(resource), "source": m.Source, "number": m.Number, "grant": m.GrantID, "step": m.Step}
	if _, err := on.Exec(ctx, g.put.text, g.put.args(v)...); err != nil {
		return pending(what, err)
	}
	return nil
}
