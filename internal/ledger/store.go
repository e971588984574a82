package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Store keeps invocations. It is deliberately dumb: one conditional put, one conditional update, reads. Everything that
// decides (the transition table, own-event search, the strong read after an unknown write) is in Ledger, so that every
// store is covered by the same tests (ledgertest).
//
// Each write is atomic and durable before it returns nil. An error which is not *Refused means that the write may or may
// not have happened, now or later: callers must not conclude anything from it.
type Store interface {
	// Put creates the item if no item has its key; else it returns *Refused with the item that is there.
	Put(ctx context.Context, inv Invocation) error
	// Update applies c if its condition holds and returns the new item; else *Refused with the item as it is (zero
	// Invocation where none is there).
	Update(ctx context.Context, c Change) (Invocation, error)
	// Get reads one item, strongly consistent when strong is set. ErrNotFound where there is none.
	Get(ctx context.Context, k Key, strong bool) (Invocation, error)
	// GetMany reads up to MaxBatch different items, each strongly consistent, in no promised order; a key without an item has no row, and
	// one that could not be read has one with its error. What was read may be older than a Get that begins later: a write's condition
	// decides, as always.
	GetMany(ctx context.Context, keys []Key) ([]Found, error)
	// Newest reads, strongly consistent, the item of partition p with the greatest generation; ErrNotFound where there is none.
	Newest(ctx context.Context, p string) (Invocation, error)
	// Due lists the keys of indexed items of one shard that are to be looked at by now, oldest first, at most limit. It is a
	// hint (eventually consistent).
	Due(ctx context.Context, shard int, now time.Time, limit int) ([]Key, error)
	// Waiting lists indexed items (parked, approved, executor-run, in doubt) of all shards, for people; a hint like Due.
	Waiting(ctx context.Context, limit int) ([]Key, error)
	// Mark sets marks on an item without touching its head: it must not make a decision in flight fail. Where the item is not
	// in state m.While it changes nothing and returns *Refused.
	Mark(ctx context.Context, k Key, m Mark) error
	// PutChunks stores a large result's parts before the outcome is written; GetChunks returns all of them in order, and an
	// error where one is missing. A set is written once or several times with the same parts.
	PutChunks(ctx context.Context, id ID, set string, parts [][]byte, deleteAt time.Time) error
	GetChunks(ctx context.Context, id ID, set string, count int) ([][]byte, error)
	// Erase removes the attributes of row.Erasable from an item in state while, marks it with text (row.Erased) unless it is marked
	// already, and then deletes every part of every result set of it. Head and events stay. Where the item is not in that state it
	// changes nothing and returns *Refused. It may be repeated: a crash in between leaves a marked item with parts, which the next
	// Erase deletes.
	Erase(ctx context.Context, k Key, while State, text string) error
	// PutGrant remembers a `once` approval; GetGrant reads it strongly consistent (ErrNotFound); DeleteGrant revokes it.
	PutGrant(ctx context.Context, g Grant) error
	GetGrant(ctx context.Context, k Key) (Grant, error)
	DeleteGrant(ctx context.Context, k Key) error
	// Covered reads, strongly consistent, the grant with key k and Newest of k's partition, in one request where no other grant lies
	// between the two. What is not there is the zero value, and no error.
	Covered(ctx context.Context, k Key) (newest Invocation, g Grant, err error)
	// Scan pages through all invocations, for the daily scan and the audit; an empty next ends it. A row that cannot be read is in the
	// page with its error: it must not keep those behind it from being looked at.
	Scan(ctx context.Context, cursor string, limit int) (rows []Found, next string, err error)
}

// MaxBatch is the most keys that one GetMany takes.
const MaxBatch = 100

// Found is one row of a page or a batch: the invocation, or, where Err is set, no more of it than its key. Err is ErrUnreadable, or, in
// a batch, that the store did not give the row out now.
type Found struct {
	Invocation
	Err error
}

// FoundItem reads one item of a page or a batch. What is wrong with it is said in the row, so that its neighbours are still read.
func FoundItem(k Key, it row.Item) Found {
	inv, err := FromItem(k, it)
	if err != nil {
		return Found{Invocation{Key: k}, err}
	}
	return Found{Invocation: inv}
}

// ErrNotFound is returned where no item has the key.
var ErrNotFound = errors.New("no such invocation")

// ErrUnknown means that a write may or may not have happened and a strong read could not tell (R4). Whoever gets it must
// not send and must not claim anything about the row.
var ErrUnknown = errors.New("the ledger's answer is unknown: the write may or may not have happened")

// ErrKeyReused means that a client key was used before with other arguments, another tool or another request state.
var ErrKeyReused = errors.New("idempotency key was used before for a different call")

// ErrErased means that the bytes were removed on purpose: Invocation.Erased says when, by whom and why.
var ErrErased = errors.New("the arguments and the result of this call were erased")

// ErrUnreadable means that a row has a form that no version writes: somebody else wrote it.
var ErrUnreadable = errors.New("the stored row is not readable")

// ErrDamaged means that what is stored of a result is not what was recorded: a part is missing, or the bytes are others.
var ErrDamaged = errors.New("the stored result is not the recorded one")

// Refused is returned by a Store whose condition did not hold. Current is the item as it is.
type Refused struct{ Current Invocation }

// Error names the state that was found.
func (r *Refused) Error() string {
	if r.Current.State == "" {
		return "condition not met: no such item"
	}
	return "condition not met: the item is " + string(r.Current.State)
}

// Conflict is returned by Ledger when somebody else's transition came first. Current says what is true now.
type Conflict struct{ Current Invocation }

// Error names the state that was found.
func (c *Conflict) Error() string {
	if c.Current.State == "" {
		return "there is no such call any more"
	}
	return "the call is " + string(c.Current.State) + " by somebody else's transition"
}

// Mark is what may be set on a row beside its history.
type Mark struct {
	NotifiedAt time.Time // non-zero: set
	SeenTwice  bool      // true: count one more
	LookAt     time.Time // non-zero: move the sweep's next look
	Verified   string    // not empty: set (row.Verification)
	While      State     // only while the row is in this state; Ledger.Mark sets it
}

// Grant is a remembered `once` approval (docs/ledger.md, "Item layout").
type Grant struct {
	Key        Key
	Invocation ID // whose approval it is
	ApprovedBy string
	Connection string
	Tool       string
	Principal  string
	ActingUser string
	Session    string
	CreatedAt  time.Time
	ExpiresAt  time.Time
}
