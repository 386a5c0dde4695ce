package money

// Bill is what attempts cost by what their agents reported, and the part of it that
// was not paid, because these attempts were replayed: it is what the recording cost.
type Bill struct {
	Cost     USD `json:"cost"`
	Replayed USD `json:"replayedCost,omitzero"`
}

// Paid is the money that was spent.
func (b Bill) Paid() USD { return b.Cost - b.Replayed }

// Plus is the sum of two bills.
func (b Bill) Plus(o Bill) Bill { return Bill{b.Cost + o.Cost, b.Replayed + o.Replayed} }

// Minus is what is left of a bill without another one.
func (b Bill) Minus(o Bill) Bill { return Bill{b.Cost - o.Cost, b.Replayed - o.Replayed} }

// Text is the amount for people. What was not paid is named.
func (b Bill) Text() string {
	switch b.Replayed {
	case 0:
		return b.Cost.Text()
	case b.Cost:
		return b.Cost.Text() + " (replayed, not paid)"
	}
	return b.Cost.Text() + " (" + b.Replayed.Text() + " of it replayed, not paid)"
}

// Short is Text where there is little room.
func (b Bill) Short() string {
	switch b.Replayed {
	case 0:
		return b.Cost.Text()
	case b.Cost:
		return b.Cost.Text() + " (not paid)"
	}
	return b.Cost.Text() + " (" + b.Replayed.Text() + " not paid)"
}
