package secret

// First is the offset of the line that the first secret of a text is in;
// -1 if there is none.
func First(text string) int {
	masked := Text(text)
	if masked == text {
		return -1
	}
	at := 0
	for i := range min(len(text), len(masked)) {
		if text[i] != masked[i] {
			break
		}
		if text[i] == '\n' {
			at = i + 1
		}
	}
	return at
}
