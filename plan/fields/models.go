package fields

import shape "hank/plan/jsonshape"

// The tables of lists of models.

var costFields = []shape.Field{
	shape.Required("input", shape.Number(0, mostPrice), "dollars per million input tokens"),
	shape.Required("output", shape.Number(0, mostPrice), "dollars per million output tokens"),
	shape.Optional("cacheRead", shape.Number(0, mostPrice), "dollars per million tokens read from the cache (default: as input)"),
	shape.Optional("cacheWrite", shape.Number(0, mostPrice), "dollars per million tokens written to the cache (default: as input)"),
}

// mostPrice is a price that no model has.
const mostPrice = 1e6

var tierShape = shape.Object("tier", "a tier", append([]shape.Field{
	shape.Required("aboveInputTokens", shape.Whole(0, 0), "it holds for requests with more input tokens than this, cached ones included"),
}, costFields...)...)

var costShape = shape.Object("cost", "a price", append(costFields[:len(costFields):len(costFields)],
	shape.Optional("tiers", shape.List(tierShape), "other prices of large requests"),
)...)

const dayPattern = `^\d{4}-\d{2}(-\d{2})?$`

var modelShape = shape.Object("model", "a model",
	shape.Required("provider", shape.Matching(`^[^/\s]+$`, "a provider is one word without slashes"), "who serves it: anthropic, openrouter, …"),
	shape.Required("id", shape.Matching(`^\S+$`, "an id has no blanks"), "its name at the provider"),
	shape.Optional("name", shape.Text(), "display name"),
	shape.Optional("released", shape.Matching(dayPattern, "must be a day or month such as 2026-11-24"), "of several models that a short name fits the newest is taken"),
	shape.Optional("cost", costShape, "its price (default: that of the list below, or unknown)"),
	shape.Optional("limit", shape.Object("limits", "limits",
		shape.Optional("context", shape.Whole(0, 0), "tokens of a request and its answer together"),
		shape.Optional("input", shape.Whole(0, 0), "tokens of a request"),
		shape.Optional("output", shape.Whole(0, 0), "tokens of an answer"),
	), "its sizes (default: those of the list below, or unknown)"),
)

// Models is the table of a list of models: what hank models --json prints.
var Models = shape.Object("models", "a list of models",
	shape.Optional("$schema", shape.Text(), "the JSON Schema, for editors: the path of a file that hank schema writes, or a URL; hank does not read it"),
	shape.Optional("schema", shape.Whole(1, 1), "version of this format"),
	shape.Optional("source", shape.Text(), "where the facts come from"),
	shape.Optional("date", shape.Matching(dayPattern, "must be a day such as 2026-11-24"), "of what day they are"),
	shape.Optional("units", shape.Text(), "what the figures mean, for readers"),
	shape.Optional("origins", shape.Anything(), "what hank models says of where it had them from"),
	shape.Required("models", shape.List(modelShape), "the models"),
)

// CatalogOfModelsDev is the table of https://models.dev/api.json, as far as hank reads it.
var CatalogOfModelsDev = shape.MapOf(shape.Object("", "a provider",
	shape.Required("models", shape.MapOf(shape.Object("", "a model",
		shape.Optional("name", shape.Text(), "display name"),
		shape.Optional("release_date", shape.Text(), "day"),
		shape.Optional("cost", shape.Object("", "a price", append(devCost[:len(devCost):len(devCost)],
			shape.Optional("context_over_200k", shape.Object("", "a price", devCost...).Open(), "the price of large requests"))...).Open(), "its price"),
		shape.Optional("limit", shape.Object("", "limits",
			shape.Optional("context", shape.Whole(0, 0), "tokens"),
			shape.Optional("input", shape.Whole(0, 0), "tokens"),
			shape.Optional("output", shape.Whole(0, 0), "tokens"),
		).Open(), "its sizes"),
	).Open()), "by id"),
).Open())

var devCost = []shape.Field{
	shape.Optional("input", shape.Number(0, mostPrice), "dollars per million tokens"),
	shape.Optional("output", shape.Number(0, mostPrice), "dollars per million tokens"),
	shape.Optional("cache_read", shape.Number(0, mostPrice), "dollars per million tokens"),
	shape.Optional("cache_write", shape.Number(0, mostPrice), "dollars per million tokens"),
}
