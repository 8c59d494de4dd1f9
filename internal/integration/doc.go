// Package integration and the packages below it test Fencerow with what the root module must not import: database drivers,
// real servers, and the repository as a whole. The module is never released and nothing may depend on it.
//
//   - servers starts private database servers for tests;
//   - modrules tests the rules that keep the modules apart;
//   - modlist reads modules.txt;
//   - cmd holds the programs that the Makefile runs.
package integration
