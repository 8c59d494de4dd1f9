package servers

import (
	"context"
	"errors"
	"net"
)

// startAll starts the nodes of a cluster, which wait for each other, and ends them if one does not serve.
func startAll(ctx context.Context, nodes []*Node) error {
	for _, n := range nodes {
		if err := n.launch(); err != nil {
			return err
		}
	}
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.waitReady(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		for _, n := range nodes {
			_ = n.Kill()
		}
		return err
	}
	return nil
}

// stopAll stops the nodes of a cluster, also those that wait for one that is gone. Nodes that have ended before are no error:
// tests kill some.
func stopAll(nodes []*Node) error {
	var errs []error
	for _, n := range nodes {
		select {
		case <-n.proc.done:
			continue
		default:
		}
		errs = append(errs, n.Stop())
	}
	return errors.Join(errs...)
}

// dialTCP is the probe of a server that is only asked whether it listens.
func dialTCP(ctx context.Context, endpoint string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return err
	}
	return conn.Close()
}
