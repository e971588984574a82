//go:build windows

package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION, which package syscall does not name.
const sharingViolation = syscall.Errno(32)

// acquire opens the lock file without sharing, which Windows enforces until the handle is
// closed or its process ends.
func acquire(dir string) (io.Closer, error) {
	path := filepath.Join(dir, lockName)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, &LockedError{Dir: dir}
	}
	if err != nil {
		return nil, fmt.Errorf("locking the data folder %s: %w", dir, err)
	}
	return os.NewFile(uintptr(handle), path), nil
}

// syncFolder does nothing: Windows has no flush of a folder, and MoveFileEx orders itself.
func syncFolder(string) error { return nil }
