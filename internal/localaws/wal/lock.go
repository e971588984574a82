package wal

import "fmt"

// lockName is an empty file whose lock, held by the operating system for as long as the
// process lives, keeps a second process out. The file itself means nothing and stays.
const lockName = "lock"

// LockedError says that another process has the folder open (W4).
type LockedError struct{ Dir string }

// Error names the folder and the cure.
func (e *LockedError) Error() string {
	return fmt.Sprintf("the data folder %s is already in use: stop the process that uses it, or choose another folder", e.Dir)
}
