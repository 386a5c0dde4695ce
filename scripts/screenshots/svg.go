package main

import (
	"fmt"
	"html"
	"strings"

	"hank/internal/term"
)

// The measures of a picture of a terminal, in points.
const (
	cellWidth  = 8.4
	cellHeight = 18.0
	margin     = 14.0
)

// style is how a text on a terminal looks.
type style struct {
	bold, dim, reverse bool
	colour             string
}

// The colours of the pictures of terminals.
const (
	paper = "#141816"
	ink   = "#d5dcd7"
	grey  = "#929c96"
)

var colours = map[string]string{"31": "#ff9d94", "32": "#7fd3a0", "33": "#f0bd6a", "34": "#8cc6ee", "35": "#d9a7e8", "36": "#7fd0d0", "91": "#ff9d94", "92": "#7fd3a0", "93": "#f0bd6a"}

// set takes in a sequence that sets colours.
func (s *style) set(codes string) {
	for code := range strings.SplitSeq(codes, ";") {
		switch code {
		case "", "0":
			*s = style{}
		case "1":
			s.bold = true
		case "2":
			s.dim = true
		case "22":
			s.bold, s.dim = false, false
		case "7":
			s.reverse = true
		case "27":
			s.reverse = false
		case "39":
			s.colour = ""
		default:
			if of, known := colours[code]; known {
				s.colour = of
			}
		}
	}
}

// fill is the colour of a text.
func (s style) fill() string {
	switch {
	case s.reverse:
		return paper
	case s.colour != "":
		return s.colour
	case s.dim:
		return grey
	case s.bold:
		return "#ffffff"
	}
	return ink
}

// svg draws the rows of a terminal, with the sequences of colours in them.
func svg(rows []string, columns int, title string) string {
	width, height := float64(columns)*cellWidth+2*margin, float64(len(rows))*cellHeight+2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&out, `<rect width="%.0f" height="%.0f" rx="8" fill="%s"/>`+"\n", width, height, paper)
	out.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace" font-size="14">` + "\n")
	for i, row := range rows {
		y := margin + float64(i)*cellHeight
		column := 0
		var s style
		for row != "" {
			text, rest, found := strings.Cut(row, "\x1b[")
			column = drawText(&out, text, s, column, y)
			if row = rest; found {
				codes, after, _ := strings.Cut(rest, "m")
				s.set(codes)
				row = after
			}
		}
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}

// drawnAs are characters that many fonts of browsers lack, and what they are drawn as.
var drawnAs = strings.NewReplacer("⎿", "└")

// drawText draws a text of one style from a column on, and returns the column after it. Parts
// that two or more blanks divide are placed one by one: a viewer may have another font.
func drawText(out *strings.Builder, text string, s style, column int, y float64) int {
	if text == "" {
		return column
	}
	at := func(c int) float64 { return margin + float64(c)*cellWidth }
	end := column + term.Columns(text)
	if s.reverse {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", at(column), y, at(end)-at(column), cellHeight, ink)
	}
	for text != "" {
		trimmed := strings.TrimLeft(text, " ")
		column += len(text) - len(trimmed)
		part, _, _ := strings.Cut(trimmed, "  ")
		if part != "" {
			weight := ""
			if s.bold {
				weight = ` font-weight="600"`
			}
			n := term.Columns(part)
			fmt.Fprintf(out, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s>%s</text>`+"\n", at(column), y+cellHeight-5, float64(n)*cellWidth, s.fill(), weight, html.EscapeString(drawnAs.Replace(strings.TrimRight(part, " "))))
			column += n
		}
		text = trimmed[len(part):]
	}
	return end
}
