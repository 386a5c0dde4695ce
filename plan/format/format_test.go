package format

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", widest)
	for in, want := range map[string]string{
		` {"b":1.50,"a" : [ 1,2 ,{"c":{}}]}`: `{ "b": 1.50, "a": [1, 2, { "c": {} }] }` + "\n",
		"{\n\"a\":[\n],\"b\":{ }}":           "{\n  \"a\": [],\n  \"b\": {}\n}\n",
		"{\"a\": 1,\n\"b\": 2}":              "{\n  \"a\": 1,\n  \"b\": 2\n}\n",
		"[\r\n1,\r\n\r\n\r\n2]":              "[\n  1,\n\n  2\n]\n",
		"[\n\n1\n\n,\n2\n\n]":                "[\n  1,\n  2\n]\n",
		`["` + long + `", 1]`:                "[\n  \"" + long + "\",\n  1\n]\n",
		`"a\u0041\/"`:                        `"a\u0041\/"` + "\n",
		"\t-0.0e+10\n\n":                     "-0.0e+10\n",
		`{"x": {"a": [` + "\n" + `1]}}`:      "{\n  \"x\": {\n    \"a\": [\n      1\n    ]\n  }\n}\n",
	} {
		got, ds := Text("x.json", []byte(in))
		if string(got) != want || len(ds) > 0 {
			t.Errorf("%q became\n%q, want\n%q (%v)", in, got, want, ds)
		}
	}
}

func TestWhatIsNoJSONIsNotLaidOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: "x.json:1:1: error [syntax]", `{"a": 1,}`: "x.json:1:8: error [trailing-comma]", "{\n// why\n}": "x.json:2:1: error [comment]", "\ufeff{}": "[byte-order-mark]",
		`{"a": 1, "a": 2}`: "x.json:1:10: error [duplicate-field]", `{} {}`: "[trailing-data]", `{"a": 01}`: "[syntax]", "[\"\xff\"]": "[syntax]", `{"a": {"b": 1, "b": 1}}`: "[duplicate-field]",
	} {
		got, ds := Text("x.json", []byte(in))
		if got != nil || len(ds) == 0 || !strings.Contains(ds[0].String(), want) {
			t.Errorf("%q became %q: %v", in, got, ds)
		}
	}
}

// Each level of depth is two spaces in front of each line.
func TestAResultThatHankCannotReadIsNone(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("[\n", 9000) + strings.Repeat("]", 9000)
	if got, ds := Text("x.json", []byte(in)); got != nil || len(ds) != 1 || !strings.Contains(ds[0].Message, "more than 16777216 bytes") {
		t.Errorf("%d bytes: %v", len(got), ds)
	}
	in = strings.Repeat("[\n", 2000) + strings.Repeat("]", 2000)
	if got, ds := Text("x.json", []byte(in)); len(got) == 0 || len(ds) != 0 {
		t.Errorf("%d bytes: %v", len(got), ds)
	}
}

// withoutSpace is a JSON text without the white space between its tokens.
func withoutSpace(t interface{ Fatal(...any) }, text []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whatever is laid out has the same tokens, means the same, and stays as it is when it is
// laid out again.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, in []byte) {
		out, ds := Text("x.json", in)
		if len(ds) > 0 {
			t.Fatalf("%q: %v", in, ds)
		}
		if withoutSpace(t, in) != withoutSpace(t, out) {
			t.Fatalf("%q became\n%s", in, out)
		}
		var before, after any
		if json.Unmarshal(in, &before) != nil || json.Unmarshal(out, &after) != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q means another thing than\n%s", in, out)
		}
		if again, _ := Text("x.json", out); !bytes.Equal(again, out) {
			t.Fatalf("%q became\n%s\nand that\n%s", in, out, again)
		}
	}
	files, err := filepath.Glob("../../fixtures/*/hank.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range append(files, "../testdata/full/hank.json", "../model/models.json") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(t, data)
	}
	space := rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n\t", "\n\n\n"})
	var value func(t *rapid.T, depth int) string
	value = func(t *rapid.T, depth int) string {
		s := func() string { return space.Draw(t, "space") }
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 {
			kind = min(kind, 3)
		}
		switch kind {
		case 0, 1:
			return rapid.SampledFrom([]string{"0", "-0", "1.50", "1E300", "3e-2", "true", "null", "123456789012345678901234567890"}).Draw(t, "scalar")
		case 2, 3:
			return rapid.SampledFrom([]string{`""`, `"a\"}],{["`, `"\\"`, `"\u00e4ä\/"`, `"` + strings.Repeat("long ", 15) + `"`}).Draw(t, "string")
		case 4, 5:
			var items []string
			for range rapid.IntRange(0, 4).Draw(t, "items") {
				items = append(items, s()+value(t, depth-1)+s())
			}
			return "[" + strings.Join(items, ",") + s() + "]"
		}
		var members []string
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, s()+`"`+string(rune('a'+i))+`"`+s()+":"+s()+value(t, depth-1)+s())
		}
		return "{" + strings.Join(members, ",") + s() + "}"
	}
	rapid.Check(t, func(t *rapid.T) { check(t, []byte(space.Draw(t, "before")+value(t, 4)+space.Draw(t, "after"))) })
}
