package checkpoint

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// What is wrong with an object is said once, on one line.
func TestTheCauseOfDamageIsSaidOnce(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	if err := deflate(&packed, strings.NewReader(strings.Repeat("some text ", 50))); err != nil {
		t.Fatal(err)
	}
	for at := 2; at < packed.Len(); at++ {
		data := bytes.Clone(packed.Bytes())
		data[at] ^= 0xff
		_, err := inflateAll(bytes.NewReader(data), 0, 500)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("byte %d: %q", at, err)
		}
	}
	cause := errors.New("why")
	if err := firstOf(cause, cause); !errors.Is(err, cause) || err.Error() != "why" {
		t.Errorf("%q", err)
	}
}
