//go:build unix

package vfs

import (
	"errors"
	"syscall"
)

func ignoreUnsyncable(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
