package packdb

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// What is wrong with an object is said once, on one line.
func TestTheCauseOfDamageIsSaidOnce(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	if err := Deflate(&packed, strings.NewReader(strings.Repeat("some text ", 50))); err != nil {
		t.Fatal(err)
	}
	for at := 2; at < packed.Len(); at++ {
		data := append(AppendPackedHeader(nil, plumbing.BlobObject, 500), packed.Bytes()...)
		data[len(data)-packed.Len()+at] ^= 0xff
		_, _, err := unpack(data, 0)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("byte %d: %q", at, err)
		}
	}
	cause := errors.New("why")
	if err := firstOf(cause, cause); !errors.Is(err, cause) || err.Error() != "why" {
		t.Errorf("%q", err)
	}
}
