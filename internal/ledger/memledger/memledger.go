package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Store is a ledger.Store in memory. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	items  map[ledger.Key]row.Item
	grants map[ledger.Key]ledger.Grant
	chunks map[chunk][]byte
}

type chunk struct {
	id     ledger.ID
	set    string
	number int
}

var _ ledger.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{
		items:  map[ledger.Key]row.Item{},
		grants: map[ledger.Key]ledger.Grant{},
		chunks: map[chunk][]byte{},
	}
}

// Put implements ledger.Store.
func (s *Store) Put(ctx context.Context, inv ledger.Invocation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if there, taken := s.items[inv.Key]; taken {
		return refused(inv.Key, there)
	}
	s.items[inv.Key] = inv.Item()
	return nil
}

// Update implements ledger.Store.
func (s *Store) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Invocation{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it, there := s.items[c.Key]
	if !there || !c.Holds(it) {
		return ledger.Invocation{}, refused(c.Key, it)
	}
	s.items[c.Key] = c.Apply(it)
	return ledger.FromItem(c.Key, s.items[c.Key])
}

func refused(k ledger.Key, it row.Item) error {
	if it == nil {
		return &ledger.Refused{}
	}
	current, err := ledger.FromItem(k, it)
	if err != nil {
		return err
	}
	return &ledger.Refused{Current: current}
}

// Get implements ledger.Store.
func (s *Store) Get(ctx context.Context, k ledger.Key, _ bool) (ledger.Invocation, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Invocation{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it, there := s.items[k]
	if !there {
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	return ledger.FromItem(k, it)
}

// GetMany implements ledger.Store.
func (s *Store) GetMany(ctx context.Context, keys []ledger.Key) ([]ledger.Found, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(keys) > ledger.MaxBatch {
		return nil, fmt.Errorf("a batch of %d keys, at most %d", len(keys), ledger.MaxBatch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := make(map[ledger.Key]bool, len(keys))
	var rows []ledger.Found
	for _, k := range keys {
		if asked[k] {
			return nil, fmt.Errorf("a batch asks for %s twice", k.ID())
		}
		asked[k] = true
		if it, there := s.items[k]; there {
			rows = append(rows, ledger.FoundItem(k, it))
		}
	}
	return rows, nil
}

// Newest implements ledger.Store.
func (s *Store) Newest(ctx context.Context, p string) (ledger.Invocation, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Invocation{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := ledger.Key{Partition: p}
	for k := range s.items {
		if k.Partition == p && k.Sort > newest.Sort {
			newest = k
		}
	}
	if newest.Sort == "" {
		return ledger.Invocation{}, ledger.ErrNotFound
	}
	return ledger.FromItem(newest, s.items[newest])
}

// indexed is one entry of the sparse index.
type indexed struct {
	key   ledger.Key
	shard string
	look  int64
}

// index returns the entries that want keeps, earliest look first.
func (s *Store) index(want func(indexed) bool, limit int) []ledger.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []indexed
	for k, it := range s.items {
		shard, inIndex := it[row.Shard].(string)
		look, hasTime := it[row.LookAt].(int64)
		if e := (indexed{k, shard, look}); inIndex && hasTime && want(e) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b indexed) int {
		return cmp.Or(cmp.Compare(a.look, b.look), strings.Compare(a.key.Partition, b.key.Partition), strings.Compare(a.key.Sort, b.key.Sort))
	})
	var keys []ledger.Key
	for _, e := range entries[:min(limit, len(entries))] {
		keys = append(keys, e.key)
	}
	return keys
}

// Due implements ledger.Store.
func (s *Store) Due(ctx context.Context, shard int, now time.Time, limit int) ([]ledger.Key, error) {
	name := ledger.ShardName(shard)
	return s.index(func(e indexed) bool { return e.shard == name && e.look <= now.UnixMilli() }, limit), ctx.Err()
}

// Waiting implements ledger.Store.
func (s *Store) Waiting(ctx context.Context, limit int) ([]ledger.Key, error) {
	return s.index(func(indexed) bool { return true }, limit), ctx.Err()
}

// Mark implements ledger.Store.
func (s *Store) Mark(ctx context.Context, k ledger.Key, m ledger.Mark) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[k]
	if it == nil || it[row.State] != string(m.While) {
		return refused(k, it)
	}
	it = it.Clone()
	if !m.NotifiedAt.IsZero() {
		it[row.NotifiedAt] = m.NotifiedAt.UnixMilli()
	}
	if !m.LookAt.IsZero() {
		it[row.LookAt] = m.LookAt.UnixMilli()
	}
	if m.Verified != "" {
		it[row.Verified] = m.Verified
	}
	if m.SeenTwice {
		seen, _ := it[row.SeenTwice].(int64)
		it[row.SeenTwice] = seen + 1
	}
	s.items[k] = it
	return nil
}

// Erase implements ledger.Store.
func (s *Store) Erase(ctx context.Context, k ledger.Key, while ledger.State, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[k]
	if it == nil || it[row.State] != string(while) {
		return refused(k, it)
	}
	s.items[k] = it.Erase(text)
	for c := range s.chunks {
		if c.id == k.ID() {
			delete(s.chunks, c)
		}
	}
	return nil
}

// PutChunks implements ledger.Store.
func (s *Store) PutChunks(ctx context.Context, id ledger.ID, set string, parts [][]byte, _ time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, part := range parts {
		s.chunks[chunk{id, set, i}] = slices.Clone(part)
	}
	return nil
}

// GetChunks implements ledger.Store.
func (s *Store) GetChunks(ctx context.Context, id ledger.ID, set string, count int) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := make([][]byte, count)
	for i := range parts {
		part, there := s.chunks[chunk{id, set, i}]
		if !there {
			return nil, fmt.Errorf("%w: part %d of %d of set %s is missing", ledger.ErrDamaged, i+1, count, set)
		}
		parts[i] = slices.Clone(part)
	}
	return parts, nil
}

// PutGrant implements ledger.Store.
func (s *Store) PutGrant(ctx context.Context, g ledger.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants[g.Key] = g
	return ctx.Err()
}

// GetGrant implements ledger.Store.
func (s *Store) GetGrant(ctx context.Context, k ledger.Key) (ledger.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, there := s.grants[k]
	if !there {
		return ledger.Grant{}, ledger.ErrNotFound
	}
	return g, ctx.Err()
}

// DeleteGrant implements ledger.Store.
func (s *Store) DeleteGrant(ctx context.Context, k ledger.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.grants, k)
	return ctx.Err()
}

// Scan implements ledger.Store. The cursor is the last key of the page before.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) ([]ledger.Found, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []ledger.Key
	for k := range s.items {
		if k.Partition+"/"+k.Sort > cursor {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b ledger.Key) int {
		return strings.Compare(a.Partition+"/"+a.Sort, b.Partition+"/"+b.Sort)
	})
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = keys[limit-1].Partition + "/" + keys[limit-1].Sort
	}
	var page []ledger.Found
	for _, k := range keys {
		page = append(page, ledger.FoundItem(k, s.items[k]))
	}
	return page, next, nil
}

// Items returns a copy of everything that is stored about invocations, for tests that look behind the contract.
func (s *Store) Items() map[ledger.Key]row.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[ledger.Key]row.Item, len(s.items))
	for k, it := range s.items {
		out[k] = it.Clone()
	}
	return out
}

// Tamper replaces one attribute behind the ledger's back, for tests of what is noticed.
func (s *Store) Tamper(k ledger.Key, f row.Field, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[k].Clone()
	it[f] = v
	s.items[k] = it
}
