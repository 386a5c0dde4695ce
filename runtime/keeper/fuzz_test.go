//go:build unix

package keeper

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzOrder: what the runtime orders is what the keeper reads, byte for byte:
// arguments, environment and folders of Unix are not always UTF-8.
func FuzzOrder(f *testing.F) {
	f.Add("/bin/sh", "-c", "A=b", "/tmp", "a.1")
	f.Add("/bin/\xff", "\n", "LS_COLORS=\xfe", "/w\xc3", "<&>\u2028")
	f.Fuzz(func(t *testing.T, path, arg, env, dir, attempt string) {
		want := order{Path: raw(path), Args: []raw{raw(path), raw(arg)}, Env: []raw{raw(env)}, Dir: raw(dir), Attempt: strings.ToValidUTF8(attempt, "?"), Limit: 1}
		if len(arg)%2 == 0 {
			want.Writable = []raw{} // which is not the same as none
		}
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(line, '\n') >= 0 {
			t.Fatalf("not one line: %q", line)
		}
		var got order
		if err := json.Unmarshal(line, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v was read as %+v, %v", want, got, err)
		}
	})
}

// FuzzControl: whatever comes through the control pipe, the keeper reads whole
// lines in order, ends with the pipe, and knows no other words than its own.
func FuzzControl(f *testing.F) {
	f.Add([]byte("stop\nkill\n"))
	f.Add([]byte("stop"))
	f.Add([]byte("\n\x00\nstop \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []byte
		for word := range commands(bufio.NewReader(bytes.NewReader(text))) {
			got = append(append(got, word...), '\n')
		}
		if want := text[:bytes.LastIndexByte(text, '\n')+1]; !bytes.Equal(got, want) {
			t.Fatalf("read %q of %q", got, text)
		}
	})
}
