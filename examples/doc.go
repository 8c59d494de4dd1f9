// Package examples has one test file per way to use Fencerow. Each example is executed by the tests and its output compared.
package examples
