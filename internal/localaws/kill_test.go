package localaws_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/localaws"
)

// The environment of the child process that TestKilledProcess kills.
const (
	childDir   = "LOCALAWS_TEST_CHILD_DIR"
	childFsync = "LOCALAWS_TEST_CHILD_FSYNC"
)

// serveChild is the child: a stand-in that prints its URL and serves until it is killed.
func serveChild(dir string, fsync bool) {
	server, err := localaws.Open(localaws.Config{Dir: dir, Fsync: fsync})
	if err == nil {
		var listener net.Listener
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			fmt.Println("http://" + listener.Addr().String())
			err = http.Serve(listener, server)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// child is a running child process.
type child struct {
	*exec.Cmd
	url string
}

func startChild(t *testing.T, dir string, fsync bool) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(program)}
	c.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=%v", childFsync, fsync))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said no URL: %v", err)
	}
	c.url = strings.TrimSpace(line)
	return c
}

// kill is kill -9, and waits until the process is gone. A second call does nothing.
func (c *child) kill() {
	if c.ProcessState == nil {
		_ = c.Process.Kill()
		_ = c.Wait() // it ends by the signal, which Wait reports as an error
	}
}

// writer is one client: it puts items of its own, extends its counter by a condition on the
// value before, and replaces its parameter, one after the other, until the server dies.
type writer struct {
	id           int
	acknowledged int // puts, counter steps and parameters, each
}

func (w *writer) step(ctx context.Context, db *dynamodb.Client, store *ssm.Client) error {
	next := w.acknowledged + 1
	if err := put(ctx, db, name("w", w.id, "-", next), next); err != nil {
		return err
	}
	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: aws.String(tableName), Key: item{"p": str(name("counter", w.id))},
		UpdateExpression: aws.String("SET #v = :next"), ConditionExpression: aws.String("#v = :before OR attribute_not_exists(#v) OR #v = :next"),
		ExpressionAttributeNames: map[string]string{"#v": "v"}, ExpressionAttributeValues: item{":next": num(next), ":before": num(w.acknowledged)}})
	if err != nil {
		return err
	}
	_, err = store.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String(name("/writer/", w.id)), Value: aws.String(name(next)),
		Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
	if err != nil {
		return err
	}
	w.acknowledged = next
	return nil
}

// A1: kill -9 in the middle of many writes loses none that was acknowledged.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		fsync  bool
		rounds int
		steps  int64 // acknowledged steps of three writes each before the kill
	}{
		{"without fsync", false, 4, 200},
		{"with fsync", true, 2, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writers := make([]*writer, 8)
			for i := range writers {
				writers[i] = &writer{id: i}
			}
			server := startChild(t, dir, test.fsync)
			db, _ := clients(server.url, 1)
			createTable(t, db)
			for round := range test.rounds {
				writeUntilKilled(t, server, writers, test.steps)
				server = startChild(t, dir, test.fsync)
				total := compare(t, server, writers)
				t.Logf("round %d: %d acknowledged writes before kill -9, 0 lost", round+1, total)
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}

func writeUntilKilled(t *testing.T, server *child, writers []*writer, steps int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var done atomic.Int64
	var killed atomic.Bool
	var wait sync.WaitGroup
	enough := make(chan struct{})
	for _, w := range writers {
		wait.Go(func() {
			db, store := clients(server.url, 1)
			for !killed.Load() {
				if err := w.step(ctx, db, store); err != nil {
					if errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("writer %d: %v", w.id, err)
						return
					}
					continue // its outcome is unknown, and a step may be repeated
				}
				if done.Add(1) == steps {
					close(enough)
				}
			}
		})
	}
	select {
	case <-enough:
	case <-ctx.Done():
		t.Error("the writers did not get far enough within a minute")
	}
	server.kill() // in the middle of whatever the eight are doing
	killed.Store(true)
	wait.Wait()
}

// compare checks that everything acknowledged is there, and returns how many writes that were.
func compare(t *testing.T, server *child, writers []*writer) int {
	t.Helper()
	// The client may read again: it now and then closes its own connection while it reads a
	// large answer that came before it had seen the end of its request's body.
	db, store := clients(server.url, 4)
	inIndex := map[string]bool{}
	for _, key := range indexed(t, db) {
		inIndex[key] = true
	}
	total := 0
	for _, w := range writers {
		for n := 1; n <= w.acknowledged; n++ {
			key := name("w", w.id, "-", n)
			if got := value(t, db, key, true); got != n {
				t.Errorf("item %s reads %d, %d was acknowledged", key, got, n)
			}
			if !inIndex[key] {
				t.Errorf("item %s is not in the index", key)
			}
		}
		// One step may have been committed without its answer having arrived.
		if got := value(t, db, name("counter", w.id), true); w.acknowledged > 0 && (got < w.acknowledged || got > w.acknowledged+1) {
			t.Errorf("counter of writer %d reads %d, %d was acknowledged", w.id, got, w.acknowledged)
		}
		out, err := store.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String(name("/writer/", w.id))})
		if err != nil && w.acknowledged > 0 {
			t.Errorf("parameter of writer %d: %v", w.id, err)
		} else if err == nil && *out.Parameter.Value != name(w.acknowledged) && *out.Parameter.Value != name(w.acknowledged+1) {
			t.Errorf("parameter of writer %d reads %s, %d was acknowledged", w.id, *out.Parameter.Value, w.acknowledged)
		}
		total += 3 * w.acknowledged
	}
	return total
}
