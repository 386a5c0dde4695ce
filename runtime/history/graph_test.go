package history

import (
	"strings"
	"testing"

	"hank/state"
)

func TestGraphDrawsWhatFollowsFromWhat(t *testing.T) {
	t.Parallel()
	// newest first; a child and its parent
	list := func(pairs ...string) []Listed {
		var out []Listed
		for _, p := range pairs {
			sha, parent, _ := strings.Cut(p, "<")
			l := Listed{SHA: state.SHA(strings.TrimSuffix(sha, "!")), Current: strings.HasSuffix(sha, "!")}
			if parent != "" {
				l.Parents = []state.SHA{state.SHA(parent)}
			}
			out = append(out, l)
		}
		return out
	}
	for _, k := range []struct {
		list []Listed
		want string
	}{
		{list("c!<b", "b<a", "a"), "* c,o b,o a"},
		{list("c<b", "x<a", "b<a", "a"), "o c,| o x,o | b,|-/,o a"},
		{list("d<a", "c<a", "b<a", "a"), "o d,| o c,| | o b,|-/ /,|-/,o a"},
		{list("c<b", "x<r", "r", "b<a"), "o c,| o x,| o r,o b"},
		{list("c<a", "x<y", "z<a", "a", "y"), "o c,| o x,| | o z,|-|-/,o | a,o y"},
		{nil, ""},
	} {
		var got []string
		for _, line := range Graph(k.list) {
			text := line.Draw
			if line.At != nil {
				text += " " + string(line.At.SHA)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ","); text != k.want {
			t.Errorf("drawn: %s\nwant:  %s", text, k.want)
		}
	}
}
