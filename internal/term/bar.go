package term

import (
	"math"
	"strings"
)

// Bar draws a share, from 0 to 1, in so many columns at most. What is more than nothing has
// a sign.
func Bar(share float64, columns int) string {
	const eighths = "▏▎▍▌▋▊▉"
	n := int(math.Round(min(max(share, 0), 1) * float64(columns) * 8))
	if n == 0 && share > 0 && columns > 0 {
		n = 1
	}
	bar := strings.Repeat("█", n/8)
	if rest := n % 8; rest > 0 {
		bar += string([]rune(eighths)[rest-1])
	}
	return bar
}
