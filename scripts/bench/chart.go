package main

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

const (
	chartWidth = 900
	rowHeight  = 46
	plotHeight = 260
	hankColor  = "#1b7837"
	gitColor   = "#b2182b"
)

// chart is the report as SVG: the ratios as bars with what they must reach,
// then every growth as a curve.
func (r *results) chart() string {
	var b strings.Builder
	y := 40
	if len(r.Cases) > 0 {
		y = r.bars(&b, y)
	}
	for _, s := range r.Growth {
		curves := []curve{{name: "hank", color: hankColor}, {name: "git", color: gitColor}}
		for _, p := range s.Points {
			curves[0].add(p.X, p.Hank)
			curves[1].add(p.X, p.Git)
		}
		y = plot(&b, y, s.Name, true, curves)
	}
	if r.Many != nil {
		curves := []curve{{name: "median", color: hankColor}, {name: "90th of a hundred", color: "#888"}}
		for _, bin := range r.Many.Bins {
			curves[0].add(bin.Until, bin.Median)
			curves[1].add(bin.Until, bin.P90)
		}
		y = plot(&b, y, fmt.Sprintf("the n-th checkpoint of 10 changed files, of %d", r.Many.Files), false, curves)
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n", chartWidth, y, b.String())
}

func label(b *strings.Builder, x, y float64, anchor, format string, args ...any) {
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, html.EscapeString(fmt.Sprintf(format, args...)))
}

func line(b *strings.Builder, x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2, style)
}

func (r *results) bars(b *strings.Builder, y int) int {
	const left, full = 20.0, 720.0
	most := 1.0
	for _, c := range r.Cases {
		most = max(most, c.Ratio)
	}
	label(b, left, float64(y), "start", "hank's time as a part of stock git's (git's defaults); lines: must, and dashed the stretch")
	y += 14
	for _, c := range r.Cases {
		top := float64(y)
		label(b, left, top+14, "start", "%s: %s of %s", c.Title, short(c.Sides[hankSide].Median), short(c.Sides[gitSide].Median))
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"#eee\"/>\n", left, top+20, full/most)
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>\n", left, top+20, full*c.Ratio/most, hankColor)
		line(b, left+full*c.Target/most, top+17, left+full*c.Target/most, top+39, "#000")
		line(b, left+full*c.Stretch/most, top+17, left+full*c.Stretch/most, top+39, `#000" stroke-dasharray="3`)
		label(b, left+full+10, top+33, "start", "%.2f %s", c.Ratio, c.Verdict)
		y += rowHeight
	}
	return y + 40
}

// curve is a line through points; those without a value are left out.
type curve struct {
	name, color string
	x, y        []float64
}

func (c *curve) add(x int, y time.Duration) {
	if y > 0 {
		c.x, c.y = append(c.x, float64(x)), append(c.y, y.Seconds()*1000)
	}
}

// plot draws curves over milliseconds, on two logarithmic axes or on two
// linear ones, and returns where the next one begins.
func plot(b *strings.Builder, y int, title string, logarithmic bool, curves []curve) int {
	scale := func(v float64) float64 { return v }
	if logarithmic {
		scale = math.Log10
	}
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	if !logarithmic {
		x0, y0 = 0, 0
	}
	for _, c := range curves {
		for i := range c.x {
			x0, x1 = min(x0, scale(c.x[i])), max(x1, scale(c.x[i]))
			y0, y1 = min(y0, scale(c.y[i])), max(y1, scale(c.y[i]))
		}
	}
	if math.IsInf(x1, 0) {
		return y
	}
	if logarithmic {
		y0, y1 = math.Floor(y0), math.Ceil(y1)
	}
	const left, right, below = 80.0, 720.0, 30.0
	top := float64(y) + 16
	bottom := top + plotHeight - below
	atX := func(v float64) float64 { return left + (scale(v)-x0)/max(x1-x0, 1e-9)*(right-left) }
	atY := func(v float64) float64 { return bottom - (scale(v)-y0)/max(y1-y0, 1e-9)*(bottom-top) }
	label(b, left, float64(y), "start", "%s (milliseconds)", title)
	for _, v := range ticks(y0, y1, logarithmic) {
		line(b, left, atY(v), right, atY(v), "#ddd")
		label(b, left-6, atY(v)+4, "end", "%g", v)
	}
	marks := curves[0].x
	if !logarithmic {
		marks = ticks(x0, x1, false)
	}
	for _, v := range marks {
		label(b, atX(v), bottom+18, "middle", "%.0f", v)
	}
	for n, c := range curves {
		if len(c.x) == 0 {
			continue
		}
		var at []string
		for i := range c.x {
			at = append(at, fmt.Sprintf("%.1f,%.1f", atX(c.x[i]), atY(c.y[i])))
			if logarithmic {
				fmt.Fprintf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", atX(c.x[i]), atY(c.y[i]), c.color)
			}
		}
		fmt.Fprintf(b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", strings.Join(at, " "), c.color)
		fmt.Fprintf(b, "<rect x=\"%.0f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", right+14, top+20*float64(n), c.color)
		label(b, right+32, top+20*float64(n)+11, "start", "%s", c.name)
	}
	return int(bottom) + 70
}

// ticks are round values between two ends: powers of ten, or four steps.
func ticks(from, to float64, logarithmic bool) []float64 {
	var list []float64
	if logarithmic {
		for e := from; e <= to; e++ {
			list = append(list, math.Pow(10, e))
		}
		return list
	}
	step := math.Pow(10, math.Floor(math.Log10(max(to-from, 1e-9))))
	for (to-from)/step < 4 {
		step /= 2
	}
	for v := from; v <= to; v += step {
		list = append(list, v)
	}
	return list
}
