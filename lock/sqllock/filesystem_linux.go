package sqllock

import (
	"fmt"
	"syscall"
)

// networkFilesystems are the magic numbers of statfs(2) for file systems whose locks SQLite cannot rely on.
var networkFilesystems = map[uint32]string{
	0x00006969: "NFS",
	0x0000517b: "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x00c36400: "Ceph",
	0x01021997: "9P",
	0x5346414f: "AFS",
	0x47504653: "GPFS",
	0x0bd00bd0: "Lustre",
}

func checkFilesystem(file string) error {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(file, &stat); err != nil {
		return nil // nothing known against it
	}
	if name, ok := networkFilesystems[uint32(stat.Type)]; ok {
		return fmt.Errorf("%s is on %s: SQLite's locks do not hold across hosts; use a local disk, or another lock service for several hosts",
			file, name)
	}
	return nil
}
