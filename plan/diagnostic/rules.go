package diagnostic

import (
	"cmp"
	"slices"

	"hank/plan/fields"
	"hank/plan/jsonshape"
)

// Rule is a kind of diagnostic. Ids are stable: scripts may look for them.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Says     string   `json:"says"`
	// Machine says that it is about the machine, and not the hank: a warning unless hank
	// validate --machine asks whether the hank can be run here.
	Machine bool `json:"machine,omitzero"`
	// Begins says that a run begins all the same: a warning also with --machine.
	Begins bool `json:"begins,omitzero"`
}

// Of is a rule by its id.
func Of(id string) Rule {
	r := rules[id]
	r.ID = id
	return r
}

// Rules lists every rule that a diagnostic can name, by id.
func Rules() []Rule {
	list := make([]Rule, 0, len(rules))
	for id, r := range rules {
		r.ID = id
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

var rules = map[string]Rule{
	// the file as JSON
	"missing-file":    {Severity: Error, Says: "the file is missing or unreadable"},
	"syntax":          {Severity: Error, Says: "the file is not JSON (RFC 8259, UTF-8)"},
	"byte-order-mark": {Severity: Error, Says: "the file starts with a byte order mark"},
	"comment":         {Severity: Error, Says: "the file has a comment"},
	"trailing-comma":  {Severity: Error, Says: "an object or array has a trailing comma"},
	"trailing-data":   {Severity: Error, Says: "text follows the JSON value"},
	"duplicate-field": {Severity: Error, Says: "an object has the same key twice"},

	// fields
	"unknown-field": {Severity: Error, Says: "the object has no such field"},
	"ignored-field": {Severity: Warning, Says: "the object has no such field; the compatible system silently ignores it"},
	"missing-field": {Severity: Error, Says: "a required field is missing"},
	"wrong-type":    {Severity: Error, Says: "wrong JSON type"},
	"bad-value":     {Severity: Error, Says: "invalid value"},
	"no-effect":     {Severity: Info, Says: "the field is accepted for compatibility and ignored"},

	// codons
	"bad-id":              {Severity: Error, Says: "an id has characters that are not allowed in file names or targets"},
	"foreign-id":          {Severity: Warning, Says: "a non-conforming id in an execution created by Hankweave"},
	"duplicate-id":        {Severity: Error, Says: "two codons or loops have the same id"},
	"similar-id":          {Severity: Warning, Says: "two ids differ only in case: their files collide on some file systems"},
	"duplicate-name":      {Severity: Warning, Says: "two codons or loops have the same name"},
	"exclusive-fields":    {Severity: Error, Says: "two mutually exclusive fields are given"},
	"prompt-missing":      {Severity: Error, Says: "a codon has neither promptFile nor promptText"},
	"prompt-twice":        {Severity: Warning, Says: "a codon has promptFile and promptText; the file takes precedence"},
	"prompt-empty":        {Severity: Warning, Says: "a prompt is blank"},
	"no-prompt":           {Severity: Error, Says: "nothing is left of an agent's prompt without its front matter and comments"},
	"prompt-large":        {Severity: Warning, Says: "a prompt is over 1 MiB"},
	"prompt-encoding":     {Severity: Error, Says: "a prompt is not UTF-8 or has NUL characters"},
	"unknown-placeholder": {Severity: Error, Says: "a prompt or script has something like <%DATA_DIR%> that is not a placeholder"},
	"placeholder-place":   {Severity: Error, Says: "a placeholder stands for nothing where it is used, such as <%PROGRESS_FILE%> outside of a loop"},
	"placeholder-literal": {Severity: Warning, Says: "a placeholder is where none is replaced: in a command, a variable, an argument of exec, a pattern of files, or the target of a copy"},
	"frontmatter":         {Severity: Warning, Says: "the front matter of a prompt cannot be parsed completely"},
	"duplicate-gate":      {Severity: Error, Says: "two gates have the same id"},
	"retry-config":        {Severity: Error, Says: "retryConfig is given without \"onFailure\": \"retry\""},
	"empty-check":         {Severity: Error, Says: "skipIf or expect has nothing to look at"},
	"variable-name":       {Severity: Error, Says: "a name under variables cannot be a placeholder, or is one that every hank has"},
	"unused-rule":         {Severity: Warning, Says: "a rule of retryConfig, or a part of it, never holds"},
	"timeout-unused":      {Severity: Warning, Says: "timeout is not below budget.maxTimeSeconds, which ends the codon before"},
	"unused-extensions":   {Severity: Warning, Says: "maxExtensions is given without exhaustWithPrompt"},
	"bad-glob":            {Severity: Error, Says: "a pattern has a syntax error"},
	"bad-path":            {Severity: Error, Says: "a path or pattern is empty, absolute, too long, or leads out of the workspace"},
	"literal-secret":      {Severity: Warning, Says: "a text contains what looks like a secret; it is stored with every execution"},
	"private-file":        {Severity: Warning, Says: "a rig copies a file that usually contains secrets, such as .env"},
	"dangerous-command":   {Severity: Warning, Says: "a command looks as if it could destroy more than the workspace"},
	"too-long":            {Severity: Error, Says: "a command, a variable, an argument of exec or a system prompt is longer than one argument of a process may be (131,071 bytes)"},
	"bad-target":          {Severity: Error, Says: "a copy target is absolute, leads out of the workspace, touches a protected name, or cannot be made"},
	"target-twice":        {Severity: Warning, Says: "two copies of a rig have the same target; the later one replaces the earlier one"},
	"target-file":         {Severity: Warning, Says: "a copy is into what the rig of an earlier codon makes a file: it fails, unless something between the two replaces the file"},
	"target-parent":       {Severity: Warning, Says: "a copy of the first codon is into a directory that nothing before it makes: a run does not start in a new workspace"},

	// the order of codons
	"loop-fresh-codon":         {Severity: Error, Says: "a contextExceeded loop has a fresh codon: its context never fills"},
	"loop-never-ends":          {Severity: Warning, Says: "a contextExceeded loop without a budget has only scripts, none of which seems to print ::hank context-exceeded: nothing else ends it"},
	"loop-rig-failure":         {Severity: Warning, Says: "a rig inside a loop runs in each iteration and must not fail"},
	"loop-abort":               {Severity: Info, Says: "a codon inside a loop ends the whole run when it fails"},
	"plateau-untracked":        {Severity: Error, Says: "a loop ends when tracked files stay the same, and none is tracked"},
	"plateau-unreachable":      {Severity: Warning, Says: "a plateau needs more iterations than the loop's limit"},
	"judge-unknown":            {Severity: Error, Says: "the judge of a loop is no codon of it"},
	"vote-field":               {Severity: Error, Says: "a plateau has a field of another kind of vote"},
	"vote-unasked":             {Severity: Warning, Says: "a codon is to decide whether its loop stops, and its prompt names no file for the decision"},
	"vote-remembered":          {Severity: Warning, Says: "a codon votes in a session that may remember its earlier votes"},
	"continue-first":           {Severity: Warning, Says: "the first codon continues a session, but there is no previous session: it fails"},
	"continue-after-exhausted": {Severity: Error, Says: "a codon continues a session whose context is full"},
	"continue-wrap":            {Severity: Warning, Says: "in a later iteration a codon continues the loop's last codon, whose session does not fit"},
	"continue-model":           {Severity: Error, Says: "a codon continues the session of another model, or that of a script, which has none"},
	"continue-untracked":       {Severity: Warning, Says: "a codon continues one that checkpoints nothing: a rollback does not bring back the files that its session speaks of"},
	"continue-after-skip":      {Severity: Warning, Says: "a codon continues one that may be skipped by its skipIf: there may be no session"},
	"continue-after-ignore":    {Severity: Warning, Says: "a codon continues one whose failure is ignored: there may be no session"},

	"continue-after-fallback": {Severity: Warning, Says: "a codon continues one that has fallbacks of another agent: the session may be one of that agent, and then a new one begins"},

	// money and time
	"budget-shares":      {Severity: Error, Says: "the shares of a budget do not fit its allocation, its sum or its children"},
	"budget-allocation":  {Severity: Error, Says: "a proportional budget has no maxDollars"},
	"budget-cap":         {Severity: Warning, Says: "a codon's maxDollars is above what its share can ever give it"},
	"budget-unused":      {Severity: Warning, Says: "a part of the budget is unallocated"},
	"budget-zero":        {Severity: Warning, Says: "a codon starts with no money at all"},
	"budget-exhaust":     {Severity: Warning, Says: "exhaustWithPrompt runs until the context is full, a time budget may end it before"},
	"budget-no-price":    {Severity: Warning, Says: "a dollar budget is on a model without a known price: only costs that the agent reports count"},
	"price-required":     {Severity: Error, Says: "requirePrice is set, and a dollar budget is on a model without a known price"},
	"budget-fail-retry":  {Severity: Warning, Says: "a budget failure is never retried"},
	"budget-fail-late":   {Severity: Warning, Says: "a codon fails because of what others before it have spent"},
	"budget-time-loop":   {Severity: Warning, Says: "a codon may take longer than its loop"},
	"budget-late":        {Severity: Warning, Says: "a dollar or token budget is on a program that may report what it has used only at its end"},
	"budget-shell-price": {Severity: Warning, Says: "a dollar or token budget is on a script that does not seem to print ::hank usage: it counts nothing else (in dollars also what its sentinels cost)"},

	// what the hank refers to
	"bad-reference":        {Severity: Error, Says: "a reference is not a plain relative path inside the directory of the hank"},
	"missing-reference":    {Severity: Error, Says: "a file or directory that the hank refers to does not exist"},
	"unreadable-reference": {Severity: Error, Says: "a file that the hank refers to cannot be read"},
	"irregular-reference":  {Severity: Error, Says: "a reference does not refer to a regular file"},
	"symlink-reference":    {Severity: Error, Says: "a reference leads through a symbolic link inside the hank"},
	"copy-root":            {Severity: Error, Says: "a rig copies the directory of the hank itself"},
	"copy-git":             {Severity: Error, Says: "a rig copies a .git directory or file"},
	"copy-gitignore":       {Severity: Error, Says: "a copied directory has its own ignore rules"},
	"copy-irregular":       {Severity: Error, Says: "a copied directory contains a symbolic link or special file"},
	"copy-ignored":         {Severity: Warning, Says: "ignore rules exclude entries of a directory from a copy"},
	"copy-large":           {Severity: Warning, Says: "a copied directory is large; all of it is stored with every changed version of the hank"},
	"before-copy-idle":     {Severity: Info, Says: "beforeCopy is not run where there is no output directory, unless checkOutputs is set"},
	"sentinel-template":    {Severity: Error, Says: "a prompt of a sentinel cannot be filled in: it has code, or a syntax error"},
	"sentinel-schema":      {Severity: Error, Says: "the schema of a sentinel's answer is no JSON Schema"},
	"sentinel-power":       {Severity: Error, Says: "a sentinel may stop or skip, and its answers cannot ask for it"},
	"sentinel-model":       {Severity: Error, Says: "the model of a sentinel is shell, which answers nothing"},
	"sentinel-parameter":   {Severity: Warning, Says: "a parameter of a sentinel's model is none that hank passes on"},
	"sentinel-setting":     {Severity: Warning, Says: "a setting of all sentinels asks for what hank does not do"},
	"sentinel-duplicate":   {Severity: Error, Says: "two sentinels of a codon have the same id"},
	"sentinel-prompt":      {Severity: Error, Says: "a sentinel lacks a prompt that it needs"},
	"sentinel-output":      {Severity: Error, Says: "the output settings of a sentinel contradict each other"},
	"sentinel-event":       {Severity: Error, Says: "a sentinel waits for an event that does not exist"},
	"sentinel-unseen":      {Severity: Warning, Says: "a sentinel waits for an event that it is never told of"},
	"sentinel-path":        {Severity: Error, Says: "a condition of a sentinel is on a field that the events do not have"},
	"sentinel-partly":      {Severity: Warning, Says: "a condition of a sentinel is on a field that only some of the events have"},
	"sentinel-regexp":      {Severity: Error, Says: "a condition's regular expression has a syntax error (RE2)"},

	// models
	"unknown-model":   {Severity: Error, Says: "unknown model"},
	"ambiguous-model": {Severity: Error, Says: "several models match the name"},
	"unlisted-model":  {Severity: Warning, Says: "a model after the name of an agent is not in the list of models: its price is unknown"},
	"no-harness":      {Severity: Warning, Machine: true, Says: "no agent that hank drives has this model: a run refuses it with exit code 9"},
	"exec-program":    {Severity: Error, Says: "a codon with a model exec/… names no program, or one by a relative path"},
	"exec-unused":     {Severity: Warning, Says: "a codon names a program for exec, and its model is of another agent"},
	"shell-override":  {Severity: Error, Says: "the model of all codons is overridden by shell: prompts for an agent would run as scripts"},

	"fallback-shell": {Severity: Error, Says: "a script has a fallback, or is one: it has no model and no provider"},
	"fallback-twice": {Severity: Error, Says: "a fallback is the model of the codon itself, or is listed twice"},

	// what sh is given
	"script-syntax":  {Severity: Error, Says: "sh cannot parse the script of a codon (sh -n; nothing is run)"},
	"script-crlf":    {Severity: Warning, Says: "lines of a script end with a carriage return and a newline (CRLF): sh takes the first for a part of the line"},
	"command-syntax": {Severity: Error, Says: "sh cannot parse a command that must succeed (sh -n; nothing is run)"},

	// the machine
	"missing-variable":    {Severity: Warning, Machine: true, Says: "a variable that the hank requires is not set"},
	"missing-program":     {Severity: Warning, Machine: true, Says: "a program that the hank requires is not on the PATH"},
	"missing-agent":       {Severity: Warning, Machine: true, Says: "an agent that the hank needs is not installed, or has no credentials"},
	"fallback-begins":     {Severity: Warning, Says: "the own model of a codon cannot be used here, and one of its fallbacks can: the codon begins with that"},
	"fallback-agent":      {Severity: Warning, Says: "the agent of a fallback is not installed, or has no credentials: a run passes it over"},
	"sandbox-missing":     {Severity: Warning, Machine: true, Says: "the sandbox that is asked for is not available on this system: the run does not start"},
	"sandbox-place":       {Severity: Error, Says: "the sandbox that is asked for cannot work where the execution and the workspace are"},
	"environment-long":    {Severity: Error, Says: "the environment of a codon, or that and the arguments of its program, are longer than those of a process may be on this machine"},
	"output-place":        {Severity: Error, Says: "the output directory that a setting names cannot be used: a file is in its way, its name is too long, or it is inside hank's own directory"},
	"place-closed":        {Severity: Warning, Machine: true, Says: "the execution, its workspace or its output files cannot be where they are to be, because hank may not write there, or something is in the way: the run does not start"},
	"place-taken":         {Severity: Warning, Machine: true, Says: "there is no execution, but something is where one would be: a run asks before it begins there"},
	"target-blocked":      {Severity: Warning, Machine: true, Says: "a copy of the first codon is into what is a file, a link, or not there in the workspace: the run does not start"},
	"target-exists":       {Severity: Warning, Machine: true, Begins: true, Says: "the target of a copy is in the workspace already; the copy replaces it"},
	"sentinel-not-loaded": {Severity: Warning, Machine: true, Begins: true, Says: "a sentinel cannot be loaded here, because its model has no key or no address: its codon runs without it"},
	"sentinel-required":   {Severity: Warning, Machine: true, Says: "a sentinel without which its codon is not to run (failCodonIfNotLoaded) cannot be loaded here, because its model has no key or no address: the run does not start"},

	// environment
	"unknown-variable": {Severity: Error, Says: "unknown environment variable"},
}

// Reporter collects diagnostics.
type Reporter struct {
	List   []Diagnostic
	AnyIDs bool // ids that break the rule for ids are worth a warning

	checker jsonshape.Checker
}

// Problem adds a diagnostic.
func (r *Reporter) Problem(p jsonshape.Problem) {
	d := Diagnostic{Severity: rules[p.Rule].Severity, Rule: p.Rule, File: p.Doc.File, Pointer: p.Pointer, Message: naming(p.Pointer, p.Message), Hint: p.Hint}
	if d.Severity == "" {
		panic("plan: rule " + p.Rule + " is not in the table")
	}
	if p.Doc.Data != nil {
		d.Line, d.Column = p.Doc.Position(p.Offset)
		d.doc, d.offset = p.Doc, p.Offset
	}
	r.List = append(r.List, d)
}

// At reports a rule at a byte offset of a document.
func (r *Reporter) At(doc *jsonshape.Document, offset int, pointer, rule, message, hint string) {
	r.Problem(jsonshape.Problem{Doc: doc, Offset: offset, Pointer: pointer, Rule: rule, Message: message, Hint: hint})
}

// Check reports what in a document does not have the shape.
func (r *Reporter) Check(doc *jsonshape.Document, s *jsonshape.Shape) {
	r.checker.Report, r.checker.Others = r.Problem, fields.Objects
	if r.AnyIDs {
		r.checker.Tolerated = map[string]jsonshape.Tolerance{"bad-id": {Rule: "foreign-id", Message: "does not conform to the rule for ids; it is escaped in file names"}}
	}
	r.checker.Check(doc, s)
}

// Sorted returns the diagnostics, those of the first file first, each file's
// from top to bottom.
func (r *Reporter) Sorted(first string) []Diagnostic {
	slices.SortStableFunc(r.List, func(a, b Diagnostic) int {
		if a.File != b.File && (a.File == first || b.File == first) {
			if a.File == first {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.List
}
