package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
)

// ID is an invocation's id as clients, links and logs carry it: "inv_" and lower-case base32 of its key. It cannot be
// guessed: 128 of its bits are a keyed hash or random, and they come first.
type ID string

// Shards is the number of index partitions; Key.Shard is one of 0 to Shards-1.
const Shards = 4

const (
	idPrefix      = "inv_"
	hashBytes     = 16 // of every partition's hash
	onlySort      = "0"
	grantSort     = "grant#"
	sortDigits    = 8 // zero-padded generations sort as text, and before "grant#"
	maxGeneration = 99_999_999
)

// errNotAnID is what ParseID says about everything it does not accept, without repeating it.
var errNotAnID = errors.New("not an invocation id: want inv_ and lower-case letters and digits")

func base32Lower() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// ID returns the id of the invocation with this key, or "" for a key that no invocation can have.
func (k Key) ID() ID {
	tag, text, ok := strings.Cut(k.Partition, "#")
	hash, err := base32Lower().DecodeString(text)
	if !ok || err != nil || len(hash) != hashBytes || (tag != "k" && tag != "c" && tag != "r") {
		return ""
	}
	b := append(hash, tag[0]) // the hash first: an id shows no pattern at its beginning
	if tag == "c" {
		generation, err := strconv.ParseUint(k.Sort, 10, 32)
		if err != nil || generationSort(int(generation)) != k.Sort {
			return ""
		}
		b = binary.AppendUvarint(b, generation)
	} else if k.Sort != onlySort {
		return ""
	}
	return ID(idPrefix + base32Lower().EncodeToString(b))
}

// String returns the id of the invocation with this key, or, for a key that none can have, its two parts.
func (k Key) String() string {
	if id := k.ID(); id != "" {
		return string(id)
	}
	return k.Partition + "/" + k.Sort
}

// ParseID returns the key behind an id. An id has one spelling only: everything else is refused.
func ParseID(s string) (Key, error) {
	text, ok := strings.CutPrefix(s, idPrefix)
	if !ok || len(text) > 40 {
		return Key{}, errNotAnID
	}
	b, err := base32Lower().DecodeString(text)
	if err != nil || len(b) <= hashBytes {
		return Key{}, errNotAnID
	}
	hash, tag, rest := b[:hashBytes], b[hashBytes], b[hashBytes+1:]
	k := Key{Partition: string(tag) + "#" + base32Lower().EncodeToString(hash), Sort: onlySort}
	if tag == 'c' {
		generation, _ := binary.Uvarint(rest)
		if generation > maxGeneration {
			return Key{}, errNotAnID
		}
		k.Sort = generationSort(int(generation))
	}
	if string(k.ID()) != s { // spare bits, long varints, unknown tags, trailing bytes
		return Key{}, errNotAnID
	}
	return k, nil
}

// Shard returns the index partition of the item.
func (k Key) Shard() int {
	h := fnv.New32a()
	io.WriteString(h, k.Partition+"/"+k.Sort)
	return int(h.Sum32() % Shards)
}

// next returns the key of the generation after k in k's partition.
func (k Key) next() (Key, error) {
	generation, err := strconv.Atoi(k.Sort)
	if err != nil || generation >= maxGeneration {
		return Key{}, fmt.Errorf("partition %s has no room for another call", k.Partition)
	}
	return Key{k.Partition, generationSort(generation + 1)}, nil
}

func generationSort(n int) string { return fmt.Sprintf("%0*d", sortDigits, n) }

// Keyer derives keys from what identifies a call. The hash is keyed with a deploy-time secret, so that an id cannot be
// computed from a weak client key. The secret must never be rotated: the ids of stored calls derive from it.
type Keyer struct{ secret []byte }

// NewKeyer returns a Keyer for secret, which should have 32 random bytes.
func NewKeyer(secret []byte) Keyer { return Keyer{secret: append([]byte(nil), secret...)} }

// Keyed returns the key of the call that a caller gave the client key to. The same caller, tool and client key give the
// same item, so that one conditional put is also the lookup.
func (y Keyer) Keyed(principal, actingUser, tool, key string) Key {
	return Key{"k#" + y.hash("key", principal, actingUser, tool, key), onlySort}
}

// Joining returns the partition in which identical gated calls of one caller meet. Its items are numbered generations.
func (y Keyer) Joining(principal, actingUser, tool, fingerprint string) string {
	return "c#" + y.hash("join", principal, actingUser, tool, fingerprint)
}

// Random returns a key that nothing else has, for an ungated call without a client key.
func (y Keyer) Random(rand io.Reader) (Key, error) { return randomKey(rand) }

// Grant returns the key of a remembered approval: it lies in the partition of the calls it covers, after all of them.
func (y Keyer) Grant(partition, session, definitionDigest string) Key {
	return Key{partition, grantSort + y.hash("grant", session, definitionDigest)}
}

func (y Keyer) hash(label string, fields ...string) string {
	mac := hmac.New(sha256.New, y.secret)
	frame(mac, "countersign/key/v1", label)
	frame(mac, fields...)
	return base32Lower().EncodeToString(mac.Sum(nil)[:hashBytes])
}

func randomKey(rand io.Reader) (Key, error) {
	var b [hashBytes]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return Key{}, fmt.Errorf("reading randomness for an id: %w", err)
	}
	return Key{"r#" + base32Lower().EncodeToString(b[:]), onlySort}, nil
}
