package config

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/typo"
	"hank/plan/diagnostic"
	"hank/plan/fields"
	"hank/plan/jsonshape"
	"hank/plan/kind"
	"hank/plan/model"
	"hank/plan/steps"
)

// LargestFile is the size in bytes of the largest hankweave.json that is read.
const LargestFile = 1 << 20

// Sandbox says what confines the agents, rigs and checks of a hank.
type Sandbox string

// The sandboxes. An empty one is NoSandbox.
const (
	NoSandbox        Sandbox = "none"
	WorkspaceSandbox Sandbox = "workspace" // they write only in the workspace, their own home and their temp directory
)

// Settings are what people set for a runtime and not for a hank: in
// hankweave.json, in the environment, on the command line. Only what hank acts
// on is here. A zero value is not set.
type Settings struct {
	Model             string         `json:"model,omitzero"`
	AnthropicBaseURL  string         `json:"anthropicBaseUrl,omitzero"`
	OutputDirectory   string         `json:"outputDirectory,omitzero"`
	ShimIdleTimeout   int            `json:"shimIdleTimeout,omitzero"` // seconds
	OnUsageLimit      steps.OnLimit  `json:"onUsageLimit,omitzero"`
	MaxUsageLimitWait float64        `json:"maxUsageLimitWait,omitzero"` // seconds
	IgnoreRigFailures *bool          `json:"ignoreRigFailures,omitzero"`
	CheckOutputs      *bool          `json:"checkOutputs,omitzero"`
	Budget            *Ceiling       `json:"budget,omitzero"`
	CheckpointCap     Size           `json:"checkpointCap,omitzero"`
	Sandbox           Sandbox        `json:"sandbox,omitzero"`
	RequirePrice      *bool          `json:"requirePrice,omitzero"`
	AllowBypass       *bool          `json:"allowBypass,omitzero"`
	Models            jsontext.Value `json:"models,omitzero"` // of hankweave.json alone: the path of a list, or the list
	Prices            jsontext.Value `json:"prices,omitzero"` // of hankweave.json alone
	Unknown           jsontext.Value `json:",embed"`          // accepted, without effect
}

// Ceiling is a limit of a whole run; 0 is none.
type Ceiling struct {
	MaxDollars     float64        `json:"maxDollars,omitzero"`
	MaxTimeSeconds float64        `json:"maxTimeSeconds,omitzero"`
	Unknown        jsontext.Value `json:",embed"`
}

// Parse reads hankweave.json. Every problem is reported; with an error
// among them the settings hold what could be read.
func Parse(data []byte) (Settings, []diagnostic.Diagnostic) {
	var out diagnostic.Reporter
	doc := jsonshape.Read("hankweave.json", data, out.Problem)
	s := settingsOf(doc, &out)
	return s, out.Sorted(doc.File)
}

// Document is hankweave.json with its places, for what is found out about it later. Parse has
// said what is wrong with it.
func Document(name string, data []byte) *jsonshape.Document {
	doc := jsonshape.Read(name, data, func(jsonshape.Problem) {})
	doc.Apart = true
	return doc
}

func settingsOf(doc *jsonshape.Document, out *diagnostic.Reporter) Settings {
	var s Settings
	if doc.Root == nil {
		return s
	}
	out.Check(doc, fields.Settings)
	if doc.Root.Bad {
		return s
	}
	if err := json.Unmarshal(doc.Sound(), &s); err != nil {
		out.At(doc, 0, "", "syntax", err.Error(), "")
	}
	CheckSentinels(doc, "/sentinel", out)
	if prices := doc.Root.Step("prices"); prices != nil && prices.Kind == '{' {
		for _, name := range prices.Names {
			pointer := "/prices/" + jsonshape.Escape(name.Text)
			provider, id, ok := strings.Cut(name.Text, "/")
			_, agent := kind.Agent(provider)
			switch {
			case !ok || provider == "" || id == "" || strings.ContainsAny(name.Text, " \t\n"):
				out.At(doc, doc.Find(pointer), pointer, "bad-value", fmt.Sprintf("prices: %s is no model: write provider/model", jsonshape.Quote(name.Text)), "")
			case agent && strings.Contains(id, "/"):
				out.At(doc, doc.Find(pointer), pointer, "bad-value", fmt.Sprintf("prices: %s begins with an agent, which makes no difference to a price", jsonshape.Quote(name.Text)), "write "+id)
			}
		}
	}
	return s
}

const variablePrefix = "HANKWEAVE_RUNTIME_"

// ParseEnviron reads the settings in an environment (KEY=value):
// HANKWEAVE_RUNTIME_SHIM_IDLE_TIMEOUT is shimIdleTimeout,
// HANKWEAVE_RUNTIME_SENTINEL_X is x of sentinel. Booleans are true and 1,
// or false, 0, no, n, off and nothing. A budget has no variable. A name or a boolean
// that means nothing is an error, so that a slip of the pen is not silently another
// setting.
func ParseEnviron(environ []string) (Settings, []diagnostic.Diagnostic) {
	var out diagnostic.Reporter
	doc := &jsonshape.Document{File: diagnostic.Environment, Root: &jsonshape.Node{Kind: '{'}}
	sentinel := jsonshape.Node{Kind: '{'}
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		snake, ok := strings.CutPrefix(key, variablePrefix)
		if !ok {
			continue
		}
		into, shape := doc.Root, fields.Settings
		if rest, ok := strings.CutPrefix(snake, "SENTINEL_"); ok {
			into, shape, snake = &sentinel, fields.SentinelSettings, rest
		}
		f := variableField(shape, snake)
		if f == nil {
			out.At(doc, 0, "", "unknown-variable", key+" is not a setting", variableHint(shape, snake))
			continue
		}
		into.Set(f.Name, f.Shape.FromText(value))
	}
	if len(sentinel.Kids) > 0 {
		doc.Root.Set("sentinel", sentinel)
	}
	return settingsOf(doc, &out), out.List
}

// variableField is the field that an environment variable stands for, or nil.
func variableField(s *jsonshape.Shape, snake string) *jsonshape.Field {
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Shape.TakesText() && snakeCase(f.Name) == snake {
			return f
		}
	}
	return nil
}

// snakeCase turns anthropicBaseUrl into ANTHROPIC_BASE_URL.
func snakeCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

func variableHint(s *jsonshape.Shape, snake string) string {
	var names []string
	for _, f := range s.Fields {
		if f.Shape.TakesText() {
			names = append(names, snakeCase(f.Name))
		} else if snakeCase(f.Name) == snake {
			return f.Name + " has no variable: set it in hankweave.json"
		}
	}
	if near := typo.Nearest(snake, names); near != "" {
		return "did you mean " + variablePrefix + near + "?"
	}
	return "see the settings of hankweave.json for the names"
}

// Layers are the settings of each source. Merged, a later layer wins over an
// earlier one: hankweave.json, overrides of the hank, environment, command
// line.
type Layers struct {
	File  Settings // hankweave.json
	Env   Settings // HANKWEAVE_RUNTIME_*
	Flags Settings // command line

	// Document is hankweave.json with its places, by the name that the user gives it; nil: they
	// are not known.
	Document func() *jsonshape.Document

	// Models returns those that there are, with what hankweave.json says of them; nil is the
	// list that is compiled in. It takes milliseconds, and a hank of scripts needs none.
	Models func() *model.Registry

	// Limited: the execution has a limit in dollars, apart from the budgets of settings and hank.
	Limited bool

	// AnyIDs takes ids that break the rule for ids with a warning: an execution
	// that Hankweave began has records under them.
	AnyIDs bool
}

// ChecksOutputs reports whether beforeCopy runs where nothing is copied.
func (s Settings) ChecksOutputs() bool { return s.CheckOutputs != nil && *s.CheckOutputs }

// Merge returns the settings that hold; hank are the overrides of the hank, nil is
// none. The ceilings of hankweave.json and of the hank are both kept: the smaller
// one holds. A ceiling of a higher layer replaces it.
func (l Layers) Merge(hank *Settings) Settings {
	s := l.File
	s.Models, s.Prices = nil, nil // they are facts, which Layers.Models has
	if hank != nil {
		over := *hank
		if b, f := over.Budget, s.Budget; b != nil && f != nil {
			over.Budget = &Ceiling{MaxDollars: lower(f.MaxDollars, b.MaxDollars), MaxTimeSeconds: lower(f.MaxTimeSeconds, b.MaxTimeSeconds)}
		}
		s = s.under(over)
	}
	return s.under(l.Env).under(l.Flags)
}

// lower is the smaller of two limits, where 0 is none.
func lower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return math.Min(a, b)
}

// under returns s with everything that top sets.
func (s Settings) under(top Settings) Settings {
	if top.Model != "" {
		s.Model = top.Model
	}
	if top.AnthropicBaseURL != "" {
		s.AnthropicBaseURL = top.AnthropicBaseURL
	}
	if top.OutputDirectory != "" {
		s.OutputDirectory = top.OutputDirectory
	}
	if top.ShimIdleTimeout != 0 {
		s.ShimIdleTimeout = top.ShimIdleTimeout
	}
	if top.OnUsageLimit != "" {
		s.OnUsageLimit = top.OnUsageLimit
	}
	if top.MaxUsageLimitWait != 0 {
		s.MaxUsageLimitWait = top.MaxUsageLimitWait
	}
	if top.IgnoreRigFailures != nil {
		s.IgnoreRigFailures = top.IgnoreRigFailures
	}
	if top.CheckOutputs != nil {
		s.CheckOutputs = top.CheckOutputs
	}
	if top.CheckpointCap != "" {
		s.CheckpointCap = top.CheckpointCap
	}
	if top.Sandbox != "" {
		s.Sandbox = top.Sandbox
	}
	if top.AllowBypass != nil {
		s.AllowBypass = top.AllowBypass
	}
	if top.RequirePrice != nil {
		s.RequirePrice = top.RequirePrice
	}
	if top.Budget != nil {
		b := *top.Budget
		if s.Budget != nil {
			if b.MaxDollars == 0 {
				b.MaxDollars = s.Budget.MaxDollars
			}
			if b.MaxTimeSeconds == 0 {
				b.MaxTimeSeconds = s.Budget.MaxTimeSeconds
			}
		}
		s.Budget = &b
	}
	return s
}
