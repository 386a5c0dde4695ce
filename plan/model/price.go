package model

import (
	"math"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// Cost is the price list of a model. A missing cache rate means that the
// provider has no price of its own for it: such tokens cost what input costs.
type Cost struct {
	Input      Rate           `json:"input"`
	Output     Rate           `json:"output"`
	CacheRead  *Rate          `json:"cacheRead,omitzero"`
	CacheWrite *Rate          `json:"cacheWrite,omitzero"`
	Tiers      []Tier         `json:"tiers,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

// Tier is the price list of requests with more input (cache reads and writes
// included) than AboveInputTokens.
type Tier struct {
	AboveInputTokens int64          `json:"aboveInputTokens"`
	Input            Rate           `json:"input"`
	Output           Rate           `json:"output"`
	CacheRead        *Rate          `json:"cacheRead,omitzero"`
	CacheWrite       *Rate          `json:"cacheWrite,omitzero"`
	Unknown          jsontext.Value `json:",embed"`
}

// Tokens is the use of one request. Input does not count the cached tokens.
type Tokens struct{ Input, Output, CacheRead, CacheWrite int64 }

// Price returns what one request costs in billionths of a dollar, rounded half
// up, and whether the price is known. Sums of requests are not priced as one:
// tiers depend on the size of a single request. Negative counts are 0, and a
// price that does not fit is the largest that does.
func (r Ref) Price(t Tokens) (nanoDollars int64, known bool) {
	if r.IsShell() {
		return 0, true
	}
	if r.Cost == nil {
		return 0, false
	}
	return r.Cost.Price(t), true
}

// Price is the price of one request in billionths of a dollar.
func (c *Cost) Price(t Tokens) int64 {
	t = Tokens{max(t.Input, 0), max(t.Output, 0), max(t.CacheRead, 0), max(t.CacheWrite, 0)}
	rates := Tier{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite, AboveInputTokens: -1}
	for _, tier := range c.Tiers {
		if size := float64(t.Input) + float64(t.CacheRead) + float64(t.CacheWrite); size > float64(tier.AboveInputTokens) && tier.AboveInputTokens > rates.AboveInputTokens {
			rates = tier
		}
	}
	var sum wide
	sum.add(t.Input, rates.Input)
	sum.add(t.Output, rates.Output)
	sum.add(t.CacheRead, rates.or(rates.CacheRead))
	sum.add(t.CacheWrite, rates.or(rates.CacheWrite))
	return sum.perMillion()
}

func (t Tier) or(r *Rate) Rate {
	if r == nil {
		return t.Input
	}
	return *r
}

// wide is an unsigned 128-bit sum: a product of two int64 always fits, and so
// do four of them.
type wide struct{ hi, lo uint64 }

func (w *wide) add(tokens int64, rate Rate) {
	hi, lo := bits.Mul64(uint64(tokens), uint64(max(rate, 0)))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) perMillion() int64 {
	const million = 1_000_000
	lo, carry := bits.Add64(w.lo, million/2, 0)
	if hi := w.hi + carry; hi < million {
		if q, _ := bits.Div64(hi, lo, million); q <= math.MaxInt64 {
			return int64(q)
		}
	}
	return math.MaxInt64
}
