package claude

import (
	"encoding/json"
	"strings"

	"hank/state"
)

// fields are a JSON object read key by key: where one value has an unexpected
// type, only that value is lost and not the line. Keys are case-sensitive.
type fields map[string]json.RawMessage

func parse(b []byte) fields {
	var f fields
	if json.Unmarshal(b, &f) != nil {
		return nil
	}
	return f
}

func get[T any](f fields, key string) T {
	var v, zero T
	if json.Unmarshal(f[key], &v) != nil {
		return zero
	}
	return v
}

func (f fields) text(key string) string     { return get[string](f, key) }
func (f fields) flag(key string) bool       { return get[bool](f, key) }
func (f fields) object(key string) fields   { return get[fields](f, key) }
func (f fields) list(key string) []fields   { return get[[]fields](f, key) }
func (f fields) number(key string) float64  { return get[float64](f, key) }
func (f fields) has(key string) bool        { return len(f[key]) > 0 && string(f[key]) != "null" }
func (f fields) money(key string) state.USD { return max(0, state.Dollars(f.number(key))) }

// count is a number of tokens; what is no sensible one counts as 0.
func (f fields) count(key string) int64 {
	n := f.number(key)
	if !(n >= 0 && n < 1e12) {
		return 0
	}
	return int64(n)
}

// tokens reads a usage object of the Messages API.
func (f fields) tokens() state.Tokens {
	return state.Tokens{
		Input:         f.count("input_tokens"),
		Output:        f.count("output_tokens"),
		CacheCreation: f.count("cache_creation_input_tokens"),
		CacheRead:     f.count("cache_read_input_tokens"),
	}
}

// plain is the text of a content: a string, or a list of blocks.
func plain(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []fields
	if json.Unmarshal(content, &blocks) != nil {
		return string(content)
	}
	var parts []string
	for _, b := range blocks {
		if t := b.text("text"); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n")
}

// synthetic is the model's name in messages that the agent wrote itself.
const synthetic = "<synthetic>"
