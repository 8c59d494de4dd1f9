package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/waitlist"
)

// Channel is the Postgres channel on which releases are told. The payload is the resource.
const Channel = "fencerow_lock"

// Listener receives the notifications of Postgres on a connection of its own, which must not lie behind a pooler in transaction
// mode. A few lines on top of your driver implement it; with pgx:
//
//	func (l listener) Listen(ctx context.Context, channel string, received func(payload string)) error {
//		conn, err := pgx.Connect(ctx, l.url)
//		if err != nil {
//			return err
//		}
//		defer conn.Close(context.WithoutCancel(ctx))
//		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
//			return err
//		}
//		for {
//			notification, err := conn.WaitForNotification(ctx)
//			if err != nil {
//				return err
//			}
//			received(notification.Payload)
//		}
//	}
type Listener interface {
	// Listen calls received for the payload of each notification, until ctx ends or the connection breaks. It is called again
	// then. The channel is a plain identifier.
	Listen(ctx context.Context, channel string, received func(payload string)) error
}

// Listening is a [Service] whose releases are told, and whose waiters are woken by those of others: one waiter of a process
// for each release. Without the listener's connection waiters poll, as those of a Service do. It implements [driver.Waiter].
type Listening struct {
	*Service
	listener Listener
	waiters  waitlist.List

	background context.Context
	stop       context.CancelFunc
	started    sync.Once
	done       sync.WaitGroup
}

var _ driver.Waiter = (*Listening)(nil)

// OpenListening is [Open] for processes that have a listener. All that take locks in the database should: a release by one that
// does not listen tells nobody. Only the dialect Postgres has notifications.
func OpenListening(ctx context.Context, db *sql.DB, dialect Dialect, listener Listener) (*Listening, error) {
	if dialect.name != Postgres.name {
		return nil, fmt.Errorf("sqllock: open: the dialect %q has no notifications, use Open", dialect.name)
	}
	if listener == nil {
		return nil, errors.New("sqllock: open: the listener is nil, use Open")
	}
	svc, err := Open(ctx, db, dialect)
	if err != nil {
		return nil, err
	}
	svc.stmt.release = dialect.statement("release_notify")
	l := &Listening{Service: svc, listener: listener}
	l.background, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// Wait implements [driver.Waiter].
func (l *Listening) Wait(ctx context.Context, resource string) error {
	l.started.Do(func() { l.done.Go(l.listen) })
	woken := l.waiters.Enter(resource)
	defer func() {
		if l.waiters.Leave(resource, woken) {
			l.waiters.Wake(resource)
		}
	}()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.background.Done():
		return errors.New("sqllock: service is closed")
	}
}

// listenAgain is the pause after a broken connection.
const listenAgain = 200 * time.Millisecond

func (l *Listening) listen() {
	for l.background.Err() == nil {
		_ = l.listener.Listen(l.background, Channel, func(resource string) { l.waiters.Wake(resource) })
		select {
		case <-time.After(listenAgain):
		case <-l.background.Done():
		}
	}
}

// Close implements [driver.LockService]. It ends the listener.
func (l *Listening) Close() error {
	l.stop()
	l.done.Wait()
	return l.Service.Close()
}
