//go:build !unix

package highwater

import "errors"

func lockFile(string) (unlock func(), err error) {
	return nil, errors.New("a file needs a Unix system, use OpenTable")
}

func syncDir(string) error { return nil }
