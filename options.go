package fencerow

import (
	"fmt"
	"os"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// DefaultTTL is the length of a lease unless the options say otherwise.
const DefaultTTL = 30 * time.Second

// MaxHolderLen is the length limit of a holder's name in bytes.
const MaxHolderLen = 255

// Options of a Locker. A nil *Options means the defaults.
type Options struct {
	// TTL is the length of a lease, a whole multiple of the lock service's unit. A shorter one lets others in sooner after a
	// crash and ends more leases of workers that were only slow. Default: [DefaultTTL].
	TTL time.Duration
	// NoRenewal lets every lease end after one TTL. Default: renewed every third of the TTL.
	NoRenewal bool
	// Holder names this process for people: in the lock service, in errors, in logs. At most [MaxHolderLen] bytes of printable
	// text. Default: host/pid.
	Holder string
	// AllowAsync accepts a lock service whose numbers may be issued twice, such as Redis with replicas. Fences whose claim
	// records the grant still accept one holder only; the price of a repeated number is availability. Default: refused.
	AllowAsync bool
	// HighWater keeps the highest number of each resource outside of the lock service. A grant that is not above it is given
	// back and refused with [ErrRegressed]. It costs one request to the store for each lease. Default: none, and a lock service
	// that has lost state is noticed by the fence alone.
	HighWater HighWater
	// Observer is told about leases. Default: nobody.
	Observer *Observer
}

// resolve returns a copy with the defaults filled in, checked against what the service can do.
func (o *Options) resolve(info driver.Info) (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.TTL == 0 {
		opts.TTL = DefaultTTL
	}
	if opts.Holder == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown-host"
		}
		opts.Holder = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if len(opts.Holder) > MaxHolderLen || !printable(opts.Holder) {
		return opts, fmt.Errorf("fencerow: the holder %s must be 1 to %d bytes of printable text", quoteShort(opts.Holder), MaxHolderLen)
	}
	if err := checkID("source", info.Source); err != nil {
		return opts, fmt.Errorf("fencerow: the lock service broke its contract: %w", err)
	}
	switch info.Guarantee {
	case driver.Replicated, driver.SingleNode:
	case driver.Async:
		if !opts.AllowAsync {
			return opts, fmt.Errorf("fencerow: the lock service %s is asynchronous: a failover can issue a number twice; "+
				"set AllowAsync if every write goes through a fence with a claim", info.Source)
		}
	default:
		return opts, fmt.Errorf("fencerow: the lock service %s declares no guarantee (%v)", info.Source, info.Guarantee)
	}
	return opts, checkTTL(opts.TTL, info)
}

func checkTTL(ttl time.Duration, info driver.Info) error {
	switch {
	case ttl <= 0:
		return fmt.Errorf("fencerow: the TTL is %v, it must be positive", ttl)
	case info.TTLUnit > 0 && ttl%info.TTLUnit != 0:
		return fmt.Errorf("fencerow: the TTL is %v, the lock service %s counts in whole multiples of %v",
			ttl, info.Source, info.TTLUnit)
	case ttl < info.MinTTL:
		return fmt.Errorf("fencerow: the TTL is %v, the lock service %s accepts %v or more", ttl, info.Source, info.MinTTL)
	case info.MaxTTL > 0 && ttl > info.MaxTTL:
		return fmt.Errorf("fencerow: the TTL is %v, the lock service %s accepts %v or less", ttl, info.Source, info.MaxTTL)
	}
	return nil
}
