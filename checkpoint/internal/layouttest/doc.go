// Package layouttest draws trees at random and lays them out on a disk, for tests that
// compare a workspace with what a restore must make of it. No product code imports it.
package layouttest
