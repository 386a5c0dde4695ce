package sentinel

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Config is the configuration of a sentinel with the files that it refers to, and the
// settings of the codon for it.
type Config struct {
	ID, Name, Description string
	Model                 string
	File                  string // of the configuration; empty: it is in the hank
	Trigger               Trigger
	Execution             Execution
	System, User          *Template // System may be nil
	Conversation          *Conversation
	Errors                Errors
	Params                Params
	Structure             *Structure // nil: answers are text
	Join                  string     // between answers in a text
	Report                Reporting
	JSONL                 bool   // each text answer is a line of JSON
	LogFile, LastFile     string // as written; empty: LogFile is chosen by hank, and LastFile is not written
	Settings              Settings
}

// Execution says when a sentinel acts.
type Execution struct {
	Strategy     string `json:"strategy"` // immediate, debounce, count or timeWindow
	Milliseconds int    `json:"milliseconds"`
	Threshold    int    `json:"threshold"`
}

// Span is that of debounce and timeWindow.
func (e Execution) Span() time.Duration { return time.Duration(e.Milliseconds) * time.Millisecond }

// Conversation says how much of what was said before a sentinel remembers.
type Conversation struct {
	Trimming struct {
		Type      string `json:"type"` // maxTurns or maxTokens
		MaxTurns  int    `json:"maxTurns"`
		MaxTokens int    `json:"maxTokens"`
	} `json:"trimmingStrategy"`
	ContinueOnError bool `json:"continueOnError"`
}

// Errors says when a sentinel is given up.
type Errors struct {
	MaxConsecutiveFailures int   `json:"maxConsecutiveFailures"`
	UnloadOnFatalError     *bool `json:"unloadOnFatalError"`
}

// Most is how many failures in a row it takes.
func (e Errors) Most() int { return cmp.Or(e.MaxConsecutiveFailures, 3) }

// Fatal reports whether an error that no further try can overcome ends the sentinel.
func (e Errors) Fatal() bool { return e.UnloadOnFatalError == nil || *e.UnloadOnFatalError }

// Params are what the model is given beside the text.
type Params struct {
	Temperature      *float64 `json:"temperature"`
	TopP             *float64 `json:"topP"`
	MaxOutputTokens  int      `json:"maxOutputTokens"`
	MaxRetries       *int     `json:"maxRetries"` // of one call; nil: 2
	FrequencyPenalty *float64 `json:"frequencyPenalty"`
	PresencePenalty  *float64 `json:"presencePenalty"`
	Seed             *int     `json:"seed"`
	StopSequences    []string `json:"stopSequences"`
}

// paramNames are those of Params.
var paramNames = []string{"temperature", "topP", "maxOutputTokens", "maxRetries", "frequencyPenalty", "presencePenalty", "seed", "stopSequences"}

// Retries is how often one call is tried again.
func (p Params) Retries() int {
	if p.MaxRetries == nil {
		return 2
	}
	return min(max(*p.MaxRetries, 0), 10)
}

// Reporting says which events about the sentinel are written; nil is what holds without it.
type Reporting struct {
	Lifecycle *bool `json:"lifecycle"`
	Errors    *bool `json:"errors"`
	Outputs   *bool `json:"outputs"`
	Triggers  *bool `json:"triggers"`
}

// Settings are those of the codon for a sentinel.
type Settings struct {
	FailCodonIfNotLoaded bool `json:"failCodonIfNotLoaded"`
	OutputPaths          struct {
		LogFile       string `json:"logFile"`
		LastValueFile string `json:"lastValueFile"`
	} `json:"outputPaths"`
	ReportToWebsocket Reporting `json:"reportToWebsocket"`

	// hank's additions.
	MayStop      bool `json:"mayStop"` // its answer may stop the run
	MaySkip      bool `json:"maySkip"` // its answer may skip the codon
	DrainSeconds *int `json:"drainSeconds"`
}

// Drain is how long a sentinel may take for what is left when the codon's work has ended.
func (s Settings) Drain() time.Duration {
	if s.DrainSeconds == nil {
		return 30 * time.Second
	}
	return time.Duration(*s.DrainSeconds) * time.Second
}

// document is a configuration as it is written.
type document struct {
	ID                string         `json:"id"`
	Name              string         `json:"name"`
	Description       string         `json:"description"`
	Model             string         `json:"model"`
	Trigger           Trigger        `json:"trigger"`
	Execution         Execution      `json:"execution"`
	SystemPromptFile  files          `json:"systemPromptFile"`
	SystemPromptText  string         `json:"systemPromptText"`
	UserPromptFile    files          `json:"userPromptFile"`
	UserPromptText    string         `json:"userPromptText"`
	Conversational    *Conversation  `json:"conversational"`
	ErrorHandling     Errors         `json:"errorHandling"`
	LLMParams         jsontext.Value `json:"llmParams"`
	StructuredOutput  *structured    `json:"structuredOutput"`
	JoinString        *string        `json:"joinString"`
	ReportToWebsocket Reporting      `json:"reportToWebsocket"`
	Output            struct {
		Format        string `json:"format"`
		File          string `json:"file"`
		LastValueFile string `json:"lastValueFile"`
	} `json:"output"`
}

type structured struct {
	Output            string   `json:"output"`
	SchemaStr         string   `json:"schemaStr"`
	SchemaFile        string   `json:"schemaFile"`
	EnumValues        []string `json:"enumValues"`
	SchemaName        string   `json:"schemaName"`
	SchemaDescription string   `json:"schemaDescription"`
}

// files is one reference or several.
type files []string

func (f *files) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var one string
		err := json.UnmarshalDecode(d, &one)
		*f = files{one}
		return err
	}
	return json.UnmarshalDecode(d, (*[]string)(f))
}

// Parse reads a configuration. file is that of the configuration, empty if it is in the
// hank; read returns the text of a file by its path in the directory of the hank. What is
// wrong with the shape of it was reported before; an error is of what cannot be used.
func Parse(text []byte, settings []byte, file string, read func(name string) (string, error)) (*Config, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	c := &Config{ID: d.ID, Name: d.Name, Description: d.Description, Model: d.Model, File: file, Trigger: d.Trigger, Execution: d.Execution,
		Conversation: d.Conversational, Errors: d.ErrorHandling, Join: "\n---\n", JSONL: d.Output.Format == "jsonl"}
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &c.Settings); err != nil {
			return nil, err
		}
	}
	if len(d.LLMParams) > 0 {
		if err := json.Unmarshal(d.LLMParams, &c.Params); err != nil {
			return nil, fmt.Errorf("llmParams: %w", err)
		}
	}
	c.Trigger.compile()
	if d.JoinString != nil {
		c.Join = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\\`, `\`).Replace(*d.JoinString)
	}
	c.Report = over(d.ReportToWebsocket, c.Settings.ReportToWebsocket)
	c.LogFile = cmp.Or(c.Settings.OutputPaths.LogFile, d.Output.File)
	c.LastFile = cmp.Or(c.Settings.OutputPaths.LastValueFile, d.Output.LastValueFile)
	base := "."
	if file != "" {
		base = path.Dir(file)
	}
	var err error
	prompt := func(refs files, text string) *Template {
		var parts []string
		for _, ref := range refs {
			part, e := read(path.Join(base, ref))
			err = errors.Join(err, e)
			parts = append(parts, part)
		}
		parts = slices.DeleteFunc(append(parts, text), func(s string) bool { return strings.TrimSpace(s) == "" })
		if len(parts) == 0 {
			return nil
		}
		t, e := parseTemplate(strings.Join(parts, "\n\n"))
		err = errors.Join(err, e)
		return t
	}
	c.System, c.User = prompt(d.SystemPromptFile, d.SystemPromptText), prompt(d.UserPromptFile, d.UserPromptText)
	if c.User == nil {
		err = errors.Join(err, errors.New("it has no prompt"))
	}
	if s := d.StructuredOutput; s != nil {
		schema := s.SchemaStr
		if s.SchemaFile != "" {
			text, e := read(path.Join(base, s.SchemaFile))
			schema, err = text, errors.Join(err, e)
		}
		c.Structure = &Structure{Output: s.Output, Schema: []byte(schema), Values: s.EnumValues, Name: cmp.Or(s.SchemaName, "answer"), Description: s.SchemaDescription}
		err = errors.Join(err, c.Structure.compile())
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// over is a report with what a codon says of it.
func over(own, codon Reporting) Reporting {
	return Reporting{cmp.Or(codon.Lifecycle, own.Lifecycle), cmp.Or(codon.Errors, own.Errors), cmp.Or(codon.Outputs, own.Outputs), cmp.Or(codon.Triggers, own.Triggers)}
}

// Action is what a structured answer asks for: "stop", "skip", or nothing, with the reason.
// It is the word of enum, or the members action and reason of an object.
func Action(answer []byte) (action, reason string) {
	var word string
	if json.Unmarshal(answer, &word) == nil {
		return word, ""
	}
	var o struct {
		Action string `json:"action"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(answer, &o)
	return o.Action, o.Reason
}

// Files are the files that a configuration names, as it names them. Of what cannot be read
// there are none.
func Files(text []byte) []string {
	var d document
	_ = json.Unmarshal(text, &d)
	named := slices.Concat(d.SystemPromptFile, d.UserPromptFile)
	if d.StructuredOutput != nil && d.StructuredOutput.SchemaFile != "" {
		named = append(named, d.StructuredOutput.SchemaFile)
	}
	return named
}
