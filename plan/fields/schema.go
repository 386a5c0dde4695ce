package fields

import shape "hank/plan/jsonshape"

// HankSchema returns the JSON Schema (draft 2020-12) of hank.json, made from
// the table that Parse checks with. What depends on more than one field
// (duplicate ids, sessions, budgets, files) is not in it.
func HankSchema() []byte {
	return shape.Schema(Hank, "hank.json", "A hank: a program of agent steps.")
}

// SettingsSchema returns the JSON Schema of hankweave.json.
func SettingsSchema() []byte {
	return shape.Schema(Settings, "hankweave.json", "Settings of the runtime.")
}

// SentinelSchema returns the JSON Schema of a sentinel's configuration file.
func SentinelSchema() []byte {
	return shape.Schema(Sentinel, "sentinel.json", "An observer of a codon.")
}

// ModelsSchema returns the JSON Schema of a list of models.
func ModelsSchema() []byte {
	return shape.Schema(Models, "models.json", "A list of models with their prices.")
}
