// Package jsonchange changes JSON texts in one place at a time, in tests that compare what
// two judges say about each of them. It is of no use outside of tests.
package jsonchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Each calls do with every JSON text that differs from the one given in one place, and says
// which: each value is replaced by each of others, and each member is left out. With names
// each member gets other names besides, and each object one more member.
func Each(text []byte, others []any, names bool, do func(what string, changed []byte)) error {
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return err
	}
	var failed error
	say := func(what string) {
		changed, err := json.Marshal(root)
		if err != nil {
			failed = err
			return
		}
		do(what, changed)
	}
	var walk func(at string, v any, set func(any))
	walk = func(at string, v any, set func(any)) {
		for _, other := range others {
			set(other)
			say(fmt.Sprintf("%s=%v", at, other))
		}
		set(v)
		switch v := v.(type) {
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", at, i), inner, func(to any) { v[i] = to })
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				kept := v[key]
				delete(v, key)
				say(at + " without " + key)
				if names {
					for _, name := range []string{strings.ToUpper(key), key + "s", "x-" + key} {
						v[name] = kept
						say(at + ": " + key + " is called " + name)
						delete(v, name)
					}
				}
				v[key] = kept
				walk(at+"/"+key, kept, func(to any) { v[key] = to })
			}
			if names {
				v["oneMore"] = 1
				say(at + " with one more key")
				delete(v, "oneMore")
			}
		}
	}
	walk("", root, func(to any) { root = to })
	return failed
}
