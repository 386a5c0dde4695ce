package frontmatter

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNothingIsWhatIsBlankWithoutComments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"<!--", "-->", " ", "\r\n", "\n", "x", "<!", "->", "--", "\u00a0"}
	for range 20000 {
		var text string
		for range random.IntN(8) {
			text += parts[random.IntN(len(parts))]
		}
		without := htmlComment.ReplaceAllString(text, "")
		if WithoutComments(text) != without || IsNothing(text) != (strings.TrimSpace(without) == "") {
			t.Fatalf("%q: without comments %q, nothing: %v", text, WithoutComments(text), IsNothing(text))
		}
	}
}
