package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/runtime/history"
	"hank/runtime/report"
	"hank/runtime/report/cost"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/costindex"
)

// Digest is what a rollback does, in short: who answers to a preview answers to this one.
func Digest(p *history.Preview) string {
	text, err := json.Marshal(report.MoveOf(p), json.Deterministic(true))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// moneyPage is what an execution has cost.
type moneyPage struct {
	*execution
	By       string
	Ways     []string
	Sums     *cost.Sums
	Bars     []sumBar
	Line     *costLine
	Limits   string
	Forecast string
}

// sumBar is a sum, and how long its bar is, in thousandths of the total.
type sumBar struct {
	cost.Sum
	Width float64
}

// costLine is what was spent until when.
type costLine struct {
	Points   string // of a polyline, in a box of 1020 by 200
	Area     string // the same, down to the ground
	Limit    float64
	Most     state.USD
	HasLimit bool
	Timeline *timeline
}

// height is that of the line of costs, and behind how much room it has after the last time: there
// the last sum is seen, which is often only known at that time.
const (
	height = 200
	behind = 20
)

// errNotAsked: a page reads the records, and has no index written.
var errNotAsked = errors.New("the page sums up the records")

func (e *execution) money(q url.Values) (string, any, error) {
	page := moneyPage{execution: e, By: cmp.Or(q.Get("by"), "codon"), Ways: cost.Ways}
	if !slices.Contains(cost.Ways, page.By) {
		return "", nil, fmt.Errorf("%w: costs are not summed up by %s", ErrNoPlace, page.By)
	}
	page.Sums = cost.SumUp(e.view, cost.Query{By: page.By, Zone: time.Local}, func(string, costindex.By) (cost.Answer, error) { return cost.Answer{}, errNotAsked })
	for _, s := range page.Sums.Sums {
		page.Bars = append(page.Bars, sumBar{s, float64(s.Cost) * width / float64(max(1, page.Sums.Total.Cost))})
	}
	if e.Status.Limits.Any() {
		page.Limits = verdict.DescribeLimits(e.Status.Limits, e.Status.Paid(), -1)
	}
	if f := e.Status.Forecast; f != nil {
		page.Forecast = f.Text()
	}
	page.Line = e.costLine()
	return "money", page, nil
}

// costLine draws what was spent until when, on the timeline of the run.
func (e *execution) costLine() *costLine {
	spans := e.spans()
	l := &costLine{Timeline: newTimeline(spans, e.until())}
	if l.Timeline == nil {
		return nil
	}
	type step struct {
		at   time.Time
		cost state.USD
	}
	var steps []step
	for _, a := range e.listed() {
		at := e.At
		if a.EndTime != nil {
			at = a.EndTime.Time
		}
		steps = append(steps, step{at, a.Bill().Cost})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	for _, s := range steps {
		l.Most += s.cost
	}
	top := l.Most
	if limit := e.Status.Limits.MaxDollars; limit > 0 {
		l.HasLimit, top = true, max(top, limit)
	}
	if l.Most == 0 {
		return nil
	}
	y := func(u state.USD) float64 { return height - float64(u)*(height-8)/float64(max(1, top)) }
	points := []string{fmt.Sprintf("0,%d", height)}
	var sum state.USD
	for _, s := range steps {
		x := l.Timeline.x(s.at)
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y(sum)))
		sum += s.cost
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y(sum)))
	}
	points = append(points, fmt.Sprintf("%d,%.1f", width+behind, y(sum)))
	l.Points = strings.Join(points, " ")
	l.Area = l.Points + fmt.Sprintf(" %d,%d", width+behind, height)
	l.Limit = y(e.Status.Limits.MaxDollars)
	return l
}
