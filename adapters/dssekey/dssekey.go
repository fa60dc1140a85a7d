// Package dssekey signs receipts of merged commits by an Ed25519 key in envelopes (DSSE,
// https://github.com/secure-systems-lab/dsse), and verifies them.
//
// A receipt is a bundle as in-toto has it, an envelope in each line: the statement, and the digests of its fields, by
// which Verify names those that were touched.
package dssekey

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"

	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const payloadType = "application/vnd.in-toto+json"

// TouchedError reports that a receipt is not as it was signed.
type TouchedError struct {
	Fields []string // JSON pointers into the statement; empty: which was touched is not known
}

// Error names the fields.
func (e *TouchedError) Error() string {
	if len(e.Fields) == 0 {
		return "the receipt is not as this key has signed it"
	}
	return "the receipt is not as this key has signed it: " + strings.Join(e.Fields, ", ")
}

// Key signs receipts.
type Key struct {
	*signerverifier.ED25519SignerVerifier
}

// OpenKey reads the key in a file (PEM, PKCS #8, Ed25519), which is made, for its owner alone, where there is none.
func OpenKey(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = makeKey(path); errors.Is(err, fs.ErrExist) { // another process was quicker
			text, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return Key{}, fmt.Errorf("key of receipts: %w", err)
	}
	k, err := parse(text)
	if err != nil {
		return k, fmt.Errorf("key of receipts: %s: %w; openssl genpkey -algorithm ed25519 makes one", path, err)
	}
	return k, nil
}

// parse reads a key, private or public, as PEM.
func parse(text []byte) (Key, error) {
	k, err := signerverifier.LoadKey(text)
	if err != nil || k.KeyType != signerverifier.ED25519KeyType {
		return Key{}, errors.Join(errors.New("no Ed25519 key in PEM"), err)
	}
	v, err := signerverifier.NewED25519SignerVerifierFromSSLibKey(k)
	return Key{v}, err
}

func makeKey(path string) ([]byte, error) {
	_, key, _ := ed25519.GenerateKey(rand.Reader) // which never fails
	raw, _ := x509.MarshalPKCS8PrivateKey(key)    // an Ed25519 key always encodes
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	f, err := os.CreateTemp(filepath.Dir(path), ".receipt-*") // 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return text, os.Link(f.Name(), path) // whole or not at all
}

// PublicPEM is the half that verifies.
func (k Key) PublicPEM() string {
	raw, _ := x509.MarshalPKIXPublicKey(k.Public()) // an Ed25519 key always encodes
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw}))
}

// Issue makes the receipt of a task: see receipt.Of. builder is the service's address, version that of its program.
func (k Key) Issue(ctx context.Context, from task.Records, t task.Task, builder, version string) (receipt.Issued, error) {
	s, err := receipt.Of(ctx, from, t, builder, version)
	if err != nil {
		return receipt.Issued{}, err
	}
	bundle, err := k.bundle(ctx, s)
	return receipt.Issued{Commits: s.Commits(), Bundle: string(bundle), Public: k.PublicPEM()}, err
}

func (k Key) bundle(ctx context.Context, s receipt.Statement[receipt.Provenance]) ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	fields, err := digests(body)
	if err != nil {
		return nil, err
	}
	list, _ := json.Marshal(receipt.Statement[map[string]string]{ // texts always encode, and so does an envelope of them
		Type: receipt.StatementType, Subject: s.Subject, PredicateType: receipt.FieldsType, Predicate: fields,
	})
	signer, err := dsse.NewEnvelopeSigner(k)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, payload := range [][]byte{body, list} {
		e, err := signer.SignPayload(ctx, payloadType, payload)
		if err != nil {
			return nil, err
		}
		line, _ := json.Marshal(e)
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// Verify reads a receipt that the private half of a public key (PEM) has signed. A *TouchedError names the fields that
// were touched since.
func Verify(ctx context.Context, public string, bundle []byte) (s receipt.Statement[receipt.Provenance], err error) {
	key, err := parse([]byte(public))
	if err != nil {
		return s, fmt.Errorf("the public key: %w", err)
	}
	var lines []dsse.Envelope
	for line := range bytes.Lines(bundle) {
		var e dsse.Envelope
		if err := json.Unmarshal(line, &e); err != nil {
			return s, fmt.Errorf("the receipt: line %d is no envelope: %w", len(lines)+1, err)
		}
		lines = append(lines, e)
	}
	if len(lines) != 2 {
		return s, fmt.Errorf("the receipt: %d lines, want an envelope of the statement and one of its fields", len(lines))
	}
	body, _ := lines[0].DecodeB64Payload() // no base64: touched
	_ = json.Unmarshal(body, &s)           // as above
	verifier, err := dsse.NewEnvelopeVerifier(key)
	if err != nil {
		return s, err
	}
	_, wrong := verifier.Verify(ctx, &lines[0])
	_, unlisted := verifier.Verify(ctx, &lines[1])
	var list receipt.Statement[map[string]string]
	raw, err := lines[1].DecodeB64Payload()
	switch {
	case unlisted != nil, err != nil, json.Unmarshal(raw, &list) != nil, list.PredicateType != receipt.FieldsType:
		return s, &TouchedError{}
	}
	fields, err := digests(body)
	if err != nil {
		return s, &TouchedError{}
	}
	var touched []string
	every := maps.Clone(fields)
	maps.Copy(every, list.Predicate)
	for at := range every {
		if fields[at] != list.Predicate[at] {
			name := strconv.Quote(at) // who has touched it may have named it, for a terminal
			touched = append(touched, name[1:len(name)-1])
		}
	}
	if slices.Sort(touched); wrong != nil || len(touched) > 0 {
		return s, &TouchedError{touched}
	}
	return s, nil
}

// digests are the digests of a JSON text's values that hold no others, by their pointers (RFC 6901).
func digests(text []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	out := map[string]string{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, one := range v {
				walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), one)
			}
		case []any:
			for i, one := range v {
				walk(at+"/"+strconv.Itoa(i), one)
			}
		default:
			raw, _ := json.Marshal(v) // it was decoded
			out[at] = fmt.Sprintf("%.16x", sha256.Sum256(append([]byte(at+" "), raw...)))
		}
	}
	walk("", v)
	return out, nil
}
