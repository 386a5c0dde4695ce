package jsonchange

import (
	"slices"
	"testing"
)

// Each text is changed in one place, and the next one begins from the text as it was.
func TestEach(t *testing.T) {
	t.Parallel()
	changed := func(names bool) (all []string) {
		if err := Each([]byte(`{"a": [1]}`), []any{nil}, names, func(what string, text []byte) { all = append(all, what+": "+string(text)) }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := []string{"=<nil>: null", " without a: {}", `/a=<nil>: {"a":null}`, `/a/0=<nil>: {"a":[null]}`}
	if got := changed(false); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	want = slices.Insert(want, 2, `: a is called A: {"A":[1]}`, `: a is called as: {"as":[1]}`, `: a is called x-a: {"x-a":[1]}`)
	want = append(want, ` with one more key: {"a":[1],"oneMore":1}`)
	if got := changed(true); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if Each([]byte("{"), nil, false, nil) == nil {
		t.Error("a text that is no JSON is taken")
	}
}
