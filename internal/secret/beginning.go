package secret

// longest is how long a secret is at most that Beginning keeps out.
const longest = 16 << 10

// Beginning is at most the first so many bytes of a text, masked, and whether that is not all of
// it. What a cut has left of a secret has no shape by which it could be known: so the text is masked
// with a part after the cut, and loses what may be the beginning of a secret at the end of that.
func Beginning(text string, most int, mask func(string) string) (begin string, isCut bool) {
	whole := len(text) <= most+longest
	text = mask(text[:min(len(text), most+longest)])
	if !whole {
		text = text[:max(0, len(text)-longest)]
	}
	return text[:min(len(text), most)], !whole || len(text) > most
}
