//go:build unix

package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

func acquire(dir string) (io.Closer, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(&LockedError{Dir: dir}, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking the data folder %s: %w", dir, err), file.Close())
	}
	return lock{file}, nil
}

// lock is the locked file.
type lock struct{ *os.File }

// Close unlocks before it closes. The lock belongs to the open file, not to this descriptor
// of it, and a process that is just being started has a copy of every descriptor until it
// runs its own program: closing alone would leave the folder locked for that long.
func (l lock) Close() error {
	return errors.Join(syscall.Flock(int(l.Fd()), syscall.LOCK_UN), l.File.Close())
}

// syncFolder makes a rename in the folder survive a power cut.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
