package localaws_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/localaws/wal"
)

// filled makes a folder with a little of everything, and closes it.
func filled(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	server, err := localaws.Open(localaws.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, server)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func fill(t *testing.T, server *localaws.Server) {
	t.Helper()
	db, store := direct(t, server)
	createTable(t, db)
	for i, p := range []string{"a", "b", "c"} {
		if err := put(t.Context(), db, p, i); err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: item{"p": str("b")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String(tableName),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"first", "second"} {
		_, err := store.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("/x"), Value: &value, Type: ssmtypes.ParameterTypeSecureString, Overwrite: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReopenedFolder(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	for range 2 { // the second time from a compacted log
		server, err := localaws.Open(localaws.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		db, store := direct(t, server)
		for p, want := range map[string]int{"a": 0, "b": -1, "c": 2} {
			if got := value(t, db, p, true); got != want {
				t.Errorf("item %s reads %d, want %d", p, got, want)
			}
		}
		if got := strings.Join(indexed(t, db), " "); got != "a c" {
			t.Errorf("the index reads %q, want %q", got, "a c")
		}
		ttl, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(tableName)})
		if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "ttl" {
			t.Errorf("time to live: %+v, %v", ttl, err)
		}
		for selector, want := range map[string]string{"/x": "second", "/x:1": "first"} {
			out, err := store.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &selector, WithDecryption: aws.Bool(true)})
			if err != nil || *out.Parameter.Value != want {
				t.Errorf("parameter %s: %+v, %v; want %s", selector, out, err, want)
			}
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// W2: a record that was cut short is dropped, reported, and in nobody's way.
func TestTornTail(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	file := filepath.Join(dir, wal.FileName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	torn := append(whole, `0badcafe 100 {"service":"dyn`...)
	if err := os.WriteFile(file, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	server, err := localaws.Open(localaws.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	db, _ := direct(t, server)
	if got := value(t, db, "c", true); got != 2 {
		t.Errorf("item c reads %d, want 2", got)
	}
	if !strings.Contains(told.String(), "bytes=28") || !strings.Contains(told.String(), dir) {
		t.Errorf("the log does not say what was dropped where: %s", told.String())
	}
}

// W3: damage in the middle stops Open, with the file, the place and the cure.
func TestDamagedMiddle(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	file := filepath.Join(dir, wal.FileName)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte{'\n'})
	offset := len(lines[0]) + len(lines[1])
	data[offset+20] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = localaws.Open(localaws.Config{Dir: dir})
	var damage *wal.CorruptError
	if !errors.As(err, &damage) || damage.File != file || damage.Offset != int64(offset) {
		t.Fatalf("got %v, want a CorruptError at byte %d of %s", err, offset, file)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, data) {
		t.Error("Open changed the damaged file")
	}
	// The cure that the message names works.
	if err := os.Truncate(file, damage.Offset); err != nil {
		t.Fatal(err)
	}
	server, err := localaws.Open(localaws.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// W4: the second one to open a folder is told which folder and what to do, and the first
// goes on undisturbed.
func TestFolderInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startChild(t, dir, false)
	_, err := localaws.Open(localaws.Config{Dir: dir})
	var locked *wal.LockedError
	if !errors.As(err, &locked) || locked.Dir != dir {
		t.Fatalf("got %v, want a LockedError for %s", err, dir)
	}
	if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "stop the process") {
		t.Errorf("the message names no folder or no cure: %v", err)
	}
	db, _ := clients(first.url, 1)
	createTable(t, db)

	first.kill()
	server, err := localaws.Open(localaws.Config{Dir: dir})
	if err != nil {
		t.Fatalf("after the first one was killed: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// A write that cannot be journaled is not acknowledged and has no effect (D2).
func TestClosedServerRefusesWrites(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", t.TempDir()} {
		server, err := localaws.Open(localaws.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		db, _ := direct(t, server)
		createTable(t, db)
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if err := put(t.Context(), db, "k", 1); err == nil || !strings.Contains(err.Error(), "InternalServerError") {
			t.Errorf("a put after Close: %v, want InternalServerError", err)
		}
	}
}

// Dates come from the configured clock.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	server, err := localaws.Open(localaws.Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	db, store := direct(t, server)
	fill(t, server)
	table, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(tableName)})
	if err != nil || !table.Table.CreationDateTime.Equal(now) {
		t.Errorf("the table was created at %v (%v), want %v", table.Table.CreationDateTime, err, now)
	}
	parameter, err := store.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/x")})
	if err != nil || !parameter.Parameter.LastModifiedDate.Equal(now) {
		t.Errorf("the parameter was modified at %v (%v), want %v", parameter.Parameter.LastModifiedDate, err, now)
	}
}
