package secret

import "testing"

// TestALineIsReadWithoutKnownValues: also where JSON has quoted one, and the line stays JSON.
func TestALineIsReadWithoutKnownValues(t *testing.T) {
	t.Parallel()
	var v Values
	v.Add([]string{`FOO_API_KEY=one"two\three4`, "NAME=plain1234"})
	for line, want := range map[string]string{
		`say one"two\three4 twice: one"two\three4`: "say *** twice: ***",
		`{"text":"one\"two\\three4","n":1}`:        `{"text":"***","n":1}`,
		`{"text":"plain1234"}`:                     `{"text":"plain1234"}`,
	} {
		if got := string(v.Known([]byte(line))); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
