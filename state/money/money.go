// Package money has the amounts that records are made of.
//
// USD is an amount of money, exact in sums. Tokens are what a model read and wrote, and a
// Bill is what attempts cost, with the part of it that was not paid. A BudgetSummary tells
// at the end of a run what was used of the budgets of its hank.
//
// The package knows no record and adds nothing up by itself.
package money

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/go-json-experiment/json/jsontext"
)

// USD is an amount of money in billionths of a dollar. Sums of integers are
// exact in any order, sums of floats are not. In JSON it is a plain decimal
// number of dollars, as the documented shape of state.json wants it.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000

// Dollars rounds a float, as agents report it, to the nearest billionth, and what is in the
// middle to the even one.
// Values that are not finite or do not fit are 0: an agent's nonsense must
// not end a run.
func Dollars(f float64) USD {
	n := math.RoundToEven(f * float64(Dollar))
	if math.IsNaN(n) || n >= math.MaxInt64 || n <= math.MinInt64 {
		return 0
	}
	return USD(n)
}

// String returns the decimal form without trailing zeros: 0.0312.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	whole, frac := n/uint64(Dollar), n%uint64(Dollar)
	if frac == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%09d", frac), "0")
}

// Text is the amount for people: $0.80, $1,250.00. It is rounded to cents; what is less than
// one cent has all its decimals.
func (u USD) Text() string {
	const cent = Dollar / 100
	if u < 0 {
		return "-" + (-u).Text()
	}
	if 0 < u && u < cent {
		return "$" + u.String()
	}
	cents := (u + cent/2) / cent
	return fmt.Sprintf("$%s.%02d", humanize.Comma(int64(cents/100)), cents%100)
}

// Of is a part of an amount for people: $0.80 of $2.00.
func (u USD) Of(limit USD) string {
	used, of := u.Beside(limit)
	return used + " of " + of
}

// Beside is an amount and a limit of it for people. A limit below a dollar with a part of a cent
// has both rounded to a hundredth of a cent: $0.0075 of $0.014. Two that differ and would read the
// same have all their decimals: $1.999 of $2.
func (u USD) Beside(limit USD) (used, of string) {
	const cent, step = Dollar / 100, Dollar / 10_000
	text := USD.Text
	if limit < Dollar && limit%cent != 0 {
		text = func(u USD) string {
			if near := (u + step/2) / step * step; near > cent && near%cent != 0 {
				return "$" + near.String()
			}
			return u.Text()
		}
	}
	if used, of = text(u), text(limit); used == of && u != limit {
		return "$" + u.String(), "$" + limit.String()
	}
	return used, of
}

// MarshalJSON writes the decimal form.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads any JSON number, rounding to the nearest billionth.
func (u *USD) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("an amount in dollars must be a number, not %s", b)
	}
	*u = Dollars(f)
	return nil
}

// Tokens counts what a model read and wrote.
type Tokens struct {
	Input         int64 `json:"inputTokens"`
	Output        int64 `json:"outputTokens"`
	CacheCreation int64 `json:"cacheCreationTokens"`
	CacheRead     int64 `json:"cacheReadTokens"`

	Unknown jsontext.Value `json:",embed"`
}

// Sum is how many tokens they are together.
func (t Tokens) Sum() int64 { return t.Input + t.Output + t.CacheCreation + t.CacheRead }

// Minus returns what is left of a count without another one.
func (t Tokens) Minus(o Tokens) Tokens {
	return Tokens{Input: t.Input - o.Input, Output: t.Output - o.Output, CacheCreation: t.CacheCreation - o.CacheCreation, CacheRead: t.CacheRead - o.CacheRead}
}

// Add returns the sum of two counts.
func (t Tokens) Add(o Tokens) Tokens {
	return Tokens{Input: t.Input + o.Input, Output: t.Output + o.Output, CacheCreation: t.CacheCreation + o.CacheCreation, CacheRead: t.CacheRead + o.CacheRead}
}
