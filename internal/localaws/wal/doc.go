// Package wal is a write-ahead log in one file of a data folder: records are appended
// before they are acknowledged and replayed when the folder is opened again.
//
//	log, recovery, err := wal.Open(wal.Config{Dir: dir, Fsync: true}, func(record []byte) error {
//		return state.replay(record)
//	})
//	err = log.Compact(func(emit func(record []byte) error) error { return state.emit(emit) })
//	err = log.Append(record)   // in the order of the state's own lock
//	err = log.Sync()           // before the answer goes out
//
// The file is text, one record a line: the CRC-32C of the body in eight hex digits, the
// length of the body, the body. A body is JSON, which has no raw line feed.
//
// It promises:
//
//	W1  A record whose Append returned nil survives the death of the process at any moment;
//	    with Fsync, a record whose Sync returned nil survives a power cut too.
//	W2  A last record that was cut short is dropped and reported in Recovery; it was never
//	    acknowledged.
//	W3  Any other damage is a *CorruptError that names file and offset. Nothing is skipped,
//	    because what follows a hole may build on what the hole held.
//	W4  One process at a time: a second one gets a *LockedError that names the folder.
//	W5  Compact replaces the file in one rename; a crash during it leaves the old file.
//	W6  After a write error the log refuses every further record, because what the file
//	    then ends with is unknown until it is opened again.
//
// What the records mean is left to the caller. They are not encrypted.
package wal
