package shapes

// Elsewhere is exported on another platform only.
func Elsewhere() {}
