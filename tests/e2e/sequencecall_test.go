package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// longAfter is from when on a click is one that comes when everything else is over, which is not waited for by the clock.
const longAfter = 1000

func (r *run) atOnce(steps []step) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, s := range steps {
		if s.After < longAfter {
			wg.Go(func() { errs[i] = r.do(s) })
		}
	}
	wg.Wait()
	for i, s := range steps {
		if s.After >= longAfter {
			errs[i] = errors.Join(r.idle(), r.do(s))
		}
	}
	return errors.Join(errs...)
}

func (r *run) call(s step) error {
	args := string(s.Arguments)
	if r.number > 0 {
		args = fmt.Sprintf(`{"run":%d,%s`, r.number, strings.TrimPrefix(args, "{"))
	}
	id := any(nextID.Add(1))
	if s.RPCID != 0 {
		id = s.RPCID
	}
	if s.Later > 0 {
		if err := r.later(time.Duration(s.Later) * time.Second); err != nil {
			return err
		}
	}
	if s.After < longAfter {
		<-time.After(time.Duration(s.After) * time.Millisecond)
	}
	c := r.client()
	c.key = r.key()
	if s.Session != "" {
		c.session = r.session
	}
	make := func() (reply, error) {
		_, answered, err := c.rpcID(id, "tools/call", map[string]string{"name": quoted(s.Call), "arguments": args})
		return answered, err
	}
	if s.Kill != "" {
		return r.killed(s.Kill, make)
	}
	answered, err := make()
	_, tool, _ := strings.Cut(s.Call, "__")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, madeCall{tool, args, answered})
	return err
}
