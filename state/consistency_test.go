package state_test

import (
	"hank/state"
	"hank/state/consistency"
)

func init() {
	state.SetValidated(func(s *state.State) state.Verdict {
		found := consistency.Validate(s, consistency.World{})
		v := state.Verdict{Valid: found.Valid}
		for _, i := range found.Errors {
			v.Errors = append(v.Errors, i.Message)
		}
		for _, i := range found.Warnings {
			v.Warnings = append(v.Warnings, i.Message)
		}
		if len(found.Errors) > 0 {
			v.First = string(found.Errors[0].Type)
		}
		return v
	})
}
