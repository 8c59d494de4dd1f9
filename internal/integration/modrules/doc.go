// Package modrules checks the rules that keep the modules of this repository apart; its test applies them to the repository.
// docs/decisions/0001-modules.md gives the reasons.
//
// Each rule is a function that takes a loaded repository and returns one line for every place that breaks it.
package modrules
