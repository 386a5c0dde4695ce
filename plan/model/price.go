package model

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"strconv"

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

// Rate is a price in billionths of a dollar per million tokens. In JSON it is
// the usual figure, dollars per million tokens.
type Rate int64

// nanos are billionths of a dollar in a dollar.
const nanos = 1_000_000_000

// MarshalJSON writes dollars per million tokens as a decimal number.
func (r Rate) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(r)/nanos, 'f', -1, 64), nil
}

// UnmarshalJSON reads a number of dollars. null is 0.
func (r *Rate) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*r = 0
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f < 0 || f > math.MaxInt64/nanos/2 {
		return fmt.Errorf("a price must be a number of dollars per million tokens, not %s", b)
	}
	*r = Rate(math.Round(f * nanos))
	return nil
}

// Tokens is the use of one request. Input does not count the cached tokens.
type Tokens struct{ Input, Output, CacheRead, CacheWrite int64 }

// price is the price of one request in billionths of a dollar, rounded once, half to even.
func (c *Cost) price(t Tokens) int64 {
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
	if w.hi >= million {
		return math.MaxInt64
	}
	q, rest := bits.Div64(w.hi, w.lo, million)
	if rest > million/2 || rest == million/2 && q%2 == 1 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}
