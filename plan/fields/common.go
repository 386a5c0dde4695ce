package fields

import shape "hank/plan/jsonshape"

const idPattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`

func id() *shape.Shape {
	return shape.Matching(idPattern, "ids may contain letters, digits, dots, dashes and underscores, must start with a letter or digit, and may have at most 128 characters").Under("bad-id")
}

// refs is one path or a list of paths.
func refs() *shape.Shape {
	return shape.EitherOr('"', shape.Filled(), shape.FilledList(shape.Filled()))
}

func refOrList(doc string) string {
	return doc + ": a path relative to the directory of the hank, or a list of paths"
}
