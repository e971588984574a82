package app

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/secret/ssmsecret"
	"github.com/countersign-mcp/countersign/internal/signurl"
)

// The parameters of a deployment's keys, below its prefix.
const (
	keyGateway    = "keys/gateway" // 32 random bytes, base64: the root of id and session keys
	keyLinkActive = "link/active"  // id of the key that signs now
	keyLinkPriv   = "link/priv/"   // + id
	keyLinkPub    = "link/pub"     // + "/" + id
	urlApprove    = "urls/approve" // address of the approve function
	urlMCP        = "urls/mcp"     // the endpoint
	missingKeys   = "run: countersign keys init"
)

func (c Config) secrets() *ssmsecret.Source {
	return ssmsecret.New(ssmsecret.Config{Client: ssm.NewFromConfig(c.AWS), Prefix: c.Prefix(), Now: time.Now})
}

// gatewayKeys derives the subkeys of the deployment's root key (A3).
func gatewayKeys(ctx context.Context, s secret.Source) (ids, sessions []byte, err error) {
	v, err := s.Secret(ctx, keyGateway)
	if err != nil {
		return nil, nil, fmt.Errorf("the gateway key: %w; %s", err, missingKeys)
	}
	root, err := base64.StdEncoding.DecodeString(v.Reveal())
	if err != nil || len(root) != 32 {
		return nil, nil, fmt.Errorf("the gateway key is not 32 bytes of base64; %s", missingKeys)
	}
	derive := func(purpose string) []byte {
		k, err := hkdf.Key(sha256.New, root, nil, "countersign/"+purpose+"/v1", 32)
		if err != nil {
			panic("hkdf: " + err.Error()) // only for lengths out of range
		}
		return k
	}
	return derive("ids"), derive("sessions"), nil
}

// signer loads the key that signs links; only the notify function may read it.
func signer(ctx context.Context, s secret.Source) (*signurl.Signer, error) {
	active, err := s.Secret(ctx, keyLinkActive)
	if err != nil {
		return nil, fmt.Errorf("the active link key: %w; %s", err, missingKeys)
	}
	text, err := s.Secret(ctx, keyLinkPriv+active.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the link key %s: %w; %s", active.Reveal(), err, missingKeys)
	}
	key, err := signurl.ParsePrivate(text.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the link key %s: %w", active.Reveal(), err)
	}
	return signurl.NewSigner(active.Reveal(), key)
}

// verifier loads all public link keys.
func verifier(ctx context.Context, l secret.Lister, audience string) (*signurl.Verifier, error) {
	all, err := l.Secrets(ctx, keyLinkPub)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no public link key; %s", missingKeys)
	}
	keys := make(map[string]ed25519.PublicKey, len(all))
	for id, text := range all {
		key, err := signurl.ParsePublic(text.Reveal())
		if err != nil {
			return nil, fmt.Errorf("the public link key %s: %w", id, err)
		}
		keys[id] = key
	}
	return signurl.NewVerifier(audience, keys), nil
}

// approveURL reads where the pages are; the stack publishes it after the function's URL exists.
func approveURL(ctx context.Context, s secret.Source) (string, error) {
	v, err := s.Secret(ctx, urlApprove)
	if err != nil {
		return "", fmt.Errorf("the address of the approval page: %w; the deploy publishes it", err)
	}
	return v.Reveal(), nil
}

// InitKeys makes the keys of a deployment that are missing and leaves those there are: the gateway key is never replaced,
// because invocation ids derive from it. It reports what it made.
func InitKeys(ctx context.Context, c Config, random io.Reader) (made []string, err error) {
	client := ssm.NewFromConfig(c.AWS)
	s := c.secrets()
	missing := func(path string) (bool, error) {
		_, err := s.Secret(ctx, path)
		if errors.Is(err, secret.ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	put := func(path, value string, kind types.ParameterType) error {
		if err := PutParameter(ctx, client, c.Prefix()+"/"+path, value, kind, false); err != nil {
			return err
		}
		made = append(made, c.Prefix()+"/"+path)
		return nil
	}
	if gone, err := missing(keyGateway); err != nil {
		return made, err
	} else if gone {
		var root [32]byte
		if _, err := io.ReadFull(random, root[:]); err != nil {
			return made, fmt.Errorf("reading randomness for the gateway key: %w", err)
		}
		if err := put(keyGateway, base64.StdEncoding.EncodeToString(root[:]), types.ParameterTypeSecureString); err != nil {
			return made, err
		}
	}
	if gone, err := missing(keyLinkActive); err != nil {
		return made, err
	} else if gone {
		key, err := signurl.GenerateKey(random)
		if err != nil {
			return made, err
		}
		// The public half first: a crash in between leaves a key that nobody signs with yet.
		if err := put(keyLinkPub+"/"+key.ID, key.Public, types.ParameterTypeString); err != nil {
			return made, err
		}
		if err := put(keyLinkPriv+key.ID, key.Private, types.ParameterTypeSecureString); err != nil {
			return made, err
		}
		if err := put(keyLinkActive, key.ID, types.ParameterTypeString); err != nil {
			return made, err
		}
	}
	return made, nil
}

// PutParameter stores one parameter. Without overwrite an existing one is left and the error says so.
func PutParameter(ctx context.Context, client *ssm.Client, name, value string, kind types.ParameterType, overwrite bool) error {
	_, err := client.PutParameter(ctx, &ssm.PutParameterInput{Name: &name, Value: &value, Type: kind, Overwrite: aws.Bool(overwrite)})
	switch {
	case err == nil:
		return nil
	case value != "" && strings.Contains(err.Error(), value): // a validation error of the service quotes what it refuses
		return fmt.Errorf("storing %s: the service refuses the value; it is not shown here", name)
	}
	return fmt.Errorf("storing %s: %w", name, err)
}
