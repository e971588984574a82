package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

func recordCommands() map[string]command {
	return map[string]command{
		"tamper": {"tamper ID OLD NEW", 3, 3, quiet(cmdTamper)},
		"heads":  {"heads FILE", 1, 1, quiet(cmdHeads)},
	}
}

// cmdTamper does what somebody does who can write the table: it reads the row and puts it back changed.
func cmdTamper(s *story, _ *testscript.TestScript, args []string) error {
	state, err := dev.ReadState(filepath.Join(s.env.WorkDir, ".countersign"))
	if err != nil {
		return err
	}
	k, err := ledger.ParseID(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := s.context()
	defer cancel()
	client := dynamodb.NewFromConfig(app.LocalAWS(state.AWSEndpoint))
	key := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: k.Partition}, "k": &types.AttributeValueMemberS{Value: k.Sort}}
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &state.Table, Key: key})
	if err != nil {
		return err
	}
	changed := false
	replace := func(text *string) {
		now := strings.ReplaceAll(*text, args[1], args[2])
		changed = changed || now != *text
		*text = now
	}
	for name, v := range out.Item {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			if _, isKey := key[name]; !isKey {
				replace(&v.Value)
			}
		case *types.AttributeValueMemberB:
			text := string(v.Value)
			replace(&text)
			v.Value = []byte(text)
		case *types.AttributeValueMemberL:
			for _, e := range v.Value {
				if text, ok := e.(*types.AttributeValueMemberS); ok {
					replace(&text.Value)
				}
			}
		}
	}
	if !changed {
		return fmt.Errorf("%q stands nowhere in the row", args[1])
	}
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &state.Table, Item: out.Item})
	return err
}

// transitionLine is a transition in the log of a gateway in one process, or, after its quotes, of a function in its own.
var transitionLine = regexp.MustCompile(`msg"?[=:]"?transition"?[ ,]"?id"?[=:]"?(inv_[a-z2-7]+)"?[ ,]"?n"?[=:](\d+)[ ,]"?head"?[=:]"?([\w-]+)`)

func cmdHeads(s *story, ts *testscript.TestScript, args []string) error {
	log, err := os.ReadFile(filepath.Join(s.env.WorkDir, logFile))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, m := range transitionLine.FindAllStringSubmatch(strings.ReplaceAll(string(log), `\`, ""), -1) {
		fmt.Fprintf(&out, "{\"id\":%q,\"n\":%s,\"head\":%q}\n", m[1], m[2], m[3])
	}
	if out.Len() == 0 {
		return errors.New("no transition stands in the log: start with --log")
	}
	return writeFile(ts.MkAbs(args[0]), out.String())
}
