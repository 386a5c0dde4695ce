package variables

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What is replaced, found first and measured is what a strings.Replacer of all pairs makes.
func TestAReplacerReplacesWhatAReplacerOfAllPairsDoes(t *testing.T) {
	t.Parallel()
	f := Sample(map[string]string{"A": "<%B%>", "B": "", "AB_1": "a\x00b"})
	var pairs []string
	for _, v := range all(f) {
		for _, name := range v.Placeholders {
			pairs = append(pairs, "<%"+name+"%>", v.Value)
		}
	}
	reference, r, names := strings.NewReplacer(pairs...), NewReplacer(f), NamesOf(f.Declared)
	for i := 1; i < len(pairs); i += 2 { // the first of a name counts, and is hank's own
		if _, is := f.Declared[strings.Trim(pairs[i-1], "<%>")]; !is {
			pairs[i] = "x"
		}
	}
	blank := strings.NewReplacer(pairs...)
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"<%", "%>", "A", "B", "_1", " ", "%", "<", "CODON_ID", "<%A%>", "<%REPLY%>", "\n", "\"", "\\", "\x01", "\t"}
	for range 20000 {
		var text string
		for range random.IntN(9) {
			text += parts[random.IntN(len(parts))]
		}
		want := reference.Replace(text)
		quoted, err := jsontext.AppendQuote(nil, want)
		size, escapes := r.Size(Measure(text))
		if got := r.Replace(text); err != nil || got != want || size != len(want) || size+escapes != len(quoted)-2 {
			t.Fatalf("%q becomes %q of %d and %d bytes, want %q, %s, %v", text, got, size, escapes, want, quoted, err)
		}
		if got, want := names.Blank(text, "x"), blank.Replace(text); got != want {
			t.Fatalf("%q becomes %q, want %q", text, got, want)
		}
		first, _ := names.First(text)
		if strings.Replace(text, first, "", 1) == text != (blank.Replace(text) == text) {
			t.Fatalf("the first of %q is %q", text, first)
		}
	}
}

// Neither a text nor an attempt costs more where a hank declares more variables.
func TestManyVariablesCostATextNothing(t *testing.T) { // not parallel: it counts allocations
	declared := map[string]string{}
	for i := range 1000 {
		declared[fmt.Sprintf("V%d", i)] = "x"
	}
	few, many := map[string]string{"V1": "x"}, declared
	for name, of := range map[string]func(map[string]string) func(){
		"judge": func(d map[string]string) func() {
			n := NamesOf(d)
			return func() {
				n.Unknown("<%V1%> <%CODON_ID%>", false, func(int, string, string) { t.Error("it is known") })
				n.First("a <%V1%>")
			}
		},
		"replace": func(d map[string]string) func() { return func() { NewReplacer(Sample(d)).Replace("<%V1%>") } },
	} {
		if a, b := testing.AllocsPerRun(20, of(few)), testing.AllocsPerRun(20, of(many)); a != b {
			t.Errorf("to %s a text takes %v allocations with one variable, %v with 1,000", name, a, b)
		}
	}
}
