package jsonshape_test

import (
	"fmt"
	"testing"

	"hank/plan/jsonshape"
)

// What is decoded is the sound JSON of a file, whether it was decoded ahead or not.
func TestWhatIsDecodedAheadIsTheSoundJSON(t *testing.T) {
	t.Parallel()
	shape := jsonshape.Object("", "a file", jsonshape.Optional("n", jsonshape.Whole(0, 9), ""), jsonshape.Optional("s", jsonshape.Filled(), ""))
	for text, want := range map[string]string{
		" {\"n\": 1, \"s\": \"x\"}\n":  "1x",
		`{"n": 1, "s": "x"} rest`:      "1x",
		`{"n": 1, /* no */ "s": "x",}`: "1x",
		`{"n": "one", "s": "x"}`:       "0x",
		`{"n": 12, "s": "x"}`:          "0x",
		`{"other": 1, "s": "x"}`:       "0x",
	} {
		data := []byte(text)
		decoded := jsonshape.DecodeAhead[struct {
			N int    `json:"n"`
			S string `json:"s"`
		}](data)
		report := func(jsonshape.Problem) {}
		doc := jsonshape.Read("f", data, report)
		check := jsonshape.Checker{Report: report}
		check.Check(doc, shape)
		v, err := decoded(doc.Sound())
		if got := fmt.Sprint(v.N, v.S); err != nil || got != want {
			t.Errorf("%s: %q and %v, want %q", text, got, err, want)
		}
	}
}
