package budget

import (
	"fmt"
	"math"

	"hank/plan"
	"hank/state"
)

// money is a limit in dollars together with what was used of it.
type money struct {
	limited     bool
	left        state.USD // may be negative: limits are checked when the money is gone
	limit, used state.USD
	of          string // what it is, in words: the $4 hank budget
	scope       string // whose it is, see the scopes of a budget
	share       bool   // it is one child's part, of which more is left for others
}

// limitOf makes a limit from what was used of it.
func limitOf(limit, used state.USD, of, scope string) money {
	return money{limited: true, left: limit - used, limit: limit, used: used, of: of, scope: scope}
}

// tightest is the limit that leaves least.
func tightest(list ...money) money {
	var least money
	for _, m := range list {
		if m.limited && (!least.limited || m.left < least.left) {
			least = m
		}
	}
	return least
}

// pool is money that is divided among children: the codons and loops of a
// hank, or the codons of a loop over all its iterations.
type pool struct {
	of         string // as in money
	scope      string
	max        state.USD
	allocation plan.Allocation
	children   []poolChild
	self       int // the child that is about to spend; -1 if it is none of them
}

// poolChild is one of those that a pool is divided among. Children before self are
// completed, those after it are still to come.
type poolChild struct {
	share  float64 // 0 is none
	capped bool    // it has a budget of its own
	spent  state.USD
}

// remaining is what the child that is about to spend may still spend, by the allocation:
//
//   - shared: all that is left.
//   - proportional: its share, and no more than is left. Children without a
//     share and without a budget of their own divide what the shares leave:
//     what is not spent of it, by the number of them that are not done. Those
//     without a share that have a budget of their own may use all that is left.
//   - proportional-strict: the same, but what a child that is done has saved is
//     nobody's: its part counts as spent. Children without a share have equal
//     parts.
//
// Whatever a child was given before, in earlier attempts and runs, counts. So
// the parts never add up to more than the pool.
func (p pool) remaining() money {
	left := limitOf(p.max, p.spent(), p.of, p.scope)
	if p.self < 0 || p.allocation != plan.Proportional && p.allocation != plan.ProportionalStrict {
		return left
	}
	c := p.children[p.self]
	strict := p.allocation == plan.ProportionalStrict
	if strict {
		left = tightest(left, limitOf(p.max, p.reserved(), p.of+", what others saved of their parts included,", p.scope))
	}
	switch {
	case c.share > 0:
		return tightest(left, p.piece("share", p.part(c), c.spent))
	case c.capped:
		return left
	case strict:
		return tightest(left, p.piece("part", p.part(c), c.spent))
	}
	free, heads := p.unallocated(), state.USD(0)
	for i, o := range p.children {
		if !o.divides() {
			continue
		}
		if i != p.self {
			free -= o.spent
		}
		if i >= p.self {
			heads++
		}
	}
	return tightest(left, p.piece("part", max(0, free)/heads, c.spent))
}

// piece is what of a pool is one child's.
func (p pool) piece(word string, limit, spent state.USD) money {
	m := limitOf(limit, spent, fmt.Sprintf("its %s %s of %s", limit.Text(), word, p.of), p.scope)
	m.share = true
	return m
}

// divides reports whether the child has nothing but a part of what the shares
// leave.
func (c poolChild) divides() bool { return c.share == 0 && !c.capped }

// spent is what all children have spent.
func (p pool) spent() state.USD {
	var sum state.USD
	for _, c := range p.children {
		sum += c.spent
	}
	return sum
}

// reserved is what counts as spent if savings are nobody's.
func (p pool) reserved() state.USD {
	var sum state.USD
	for i, c := range p.children {
		if i < p.self {
			sum += max(p.part(c), c.spent)
		} else {
			sum += c.spent
		}
	}
	return sum
}

// part is the fixed part of a child: its share, or an equal part of what the
// shares leave; 0 for one that has a budget of its own instead.
func (p pool) part(c poolChild) state.USD {
	if c.share > 0 {
		return fraction(c.share, p.max)
	}
	if c.capped {
		return 0
	}
	heads := state.USD(0)
	for _, o := range p.children {
		if o.divides() {
			heads++
		}
	}
	return p.unallocated() / heads
}

// unallocated is what the shares leave.
func (p pool) unallocated() state.USD {
	rest := p.max
	for _, c := range p.children {
		rest -= fraction(c.share, p.max)
	}
	return max(0, rest)
}

func fraction(share float64, of state.USD) state.USD {
	return min(of, state.USD(math.Floor(share*float64(of))))
}

// price is an amount of hank.json. One that is too small to be counted is the
// smallest one, and not none.
func price(dollars float64) state.USD {
	if dollars <= 0 {
		return 0
	}
	if dollars >= float64(math.MaxInt64)/float64(state.Dollar) {
		return math.MaxInt64
	}
	return max(1, state.Dollars(dollars))
}

// money is what an attempt at an entry may spend, before which its chain of
// attempts has spent earlier.
func (a *Accounts) money(p *plan.Program, e plan.Entry, earlier state.USD) money {
	var own money
	if b := e.Codon.Budget; b != nil && b.MaxDollars > 0 {
		own = limitOf(price(b.MaxDollars), earlier, fmt.Sprintf("its own %s budget", price(b.MaxDollars).Text()), ScopeCodon)
	}
	if e.LoopContext == nil {
		return tightest(own, a.hankMoney(p, e.Codon.ID))
	}
	around := a.loopMoney(p, e)
	if !around.limited {
		return own
	}
	return tightest(own, around, a.inLoop(p, e, around))
}

// inLoop is what the codon of an entry may spend of what its loop may, around.
func (a *Accounts) inLoop(p *plan.Program, e plan.Entry, around money) money {
	b := loopBudget(p, e)
	id := e.LoopContext.LoopID
	in := pool{max: a.Loops[id].Cost + around.left, allocation: b.Allocation, self: -1, scope: around.scope}
	in.of = fmt.Sprintf("the %s of loop %q", in.max.Text(), id)
	if loop := p.Loop(id); loop != nil {
		for i, c := range loop.Codons {
			in.add(b.Shares[c.ID], c.Budget != nil && c.Budget.MaxDollars > 0, a.Codons[Place{id, c.ID}].Cost)
			if c.ID == e.Codon.ID {
				in.self = i
			}
		}
	}
	return in.remaining()
}

func (p *pool) add(share float64, capped bool, spent state.USD) {
	p.children = append(p.children, poolChild{share, capped, spent})
}

// loopMoney is what the loop of an entry may still spend, in all its
// iterations: its own budget, and its part of the hank's.
func (a *Accounts) loopMoney(p *plan.Program, e plan.Entry) money {
	return tightest(a.loopsOwn(p, e), a.hankMoney(p, e.LoopContext.LoopID))
}

// loopsOwn is what the loop of an entry may still spend of its own budget.
func (a *Accounts) loopsOwn(p *plan.Program, e plan.Entry) money {
	b, id := loopBudget(p, e), e.LoopContext.LoopID
	if b.MaxDollars <= 0 {
		return money{}
	}
	return limitOf(price(b.MaxDollars), a.Loops[id].Cost, fmt.Sprintf("the %s budget of loop %q", price(b.MaxDollars).Text(), id), ScopeLoop)
}

// hankMoney is the part of the budget of the whole hank that a codon or loop of its top
// level may still spend.
func (a *Accounts) hankMoney(p *plan.Program, id plan.CodonID) money {
	b := a.ceiling(p)
	if b.dollars <= 0 {
		return money{}
	}
	whole := pool{of: b.ofDollars(), scope: b.dollarsScope, max: b.dollars, allocation: b.Allocation, self: -1}
	for i, item := range p.Hank.Items {
		var child plan.CodonID
		if l := item.Loop; l != nil {
			child = l.ID
			whole.add(b.Shares[l.ID], l.Budget != nil && l.Budget.MaxDollars > 0, a.Loops[l.ID].Cost)
		} else {
			child = item.Codon.ID
			whole.add(b.Shares[child], item.Codon.Budget != nil && item.Codon.Budget.MaxDollars > 0, a.Codons[Place{Codon: child}].Cost)
		}
		if child == id {
			whole.self = i
		}
	}
	// What was abandoned, and codons that are not in the program any more.
	whole.add(0, true, a.Total.Cost-whole.spent())
	return whole.remaining()
}
