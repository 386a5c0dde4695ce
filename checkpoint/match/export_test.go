package match

// What only the tests outside of the package need.
var IndexPaths = indexPaths
