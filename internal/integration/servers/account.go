package servers

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is who a server program runs as.
type account struct {
	credential *syscall.Credential // nil: as we do
	uid, gid   int
}

// serverAccount returns the current user, and for root, whom database servers refuse, the user with the name.
func serverAccount(name string) (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, fmt.Errorf("root needs a user to run the server as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, err
	}
	return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, int(uid), int(gid)}, nil
}
