package fencerowtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"reflect"
	"runtime/pprof"
	"strings"
)

const modulePath = "github.com/fencerow/fencerow"

// ownGoroutines calls fn and returns a function that lists the goroutines which were started by it, directly or not, are still
// there and run code of this project or of the package that fn returns. They are told from those of other cases by a label that
// goroutines inherit. Those of a client library are not listed: they belong to whoever opened the client.
func (p *probe) ownGoroutines(fn func() (own string)) func() []string {
	const label = "fencerowtest"
	id := rand.Text()
	own := ""
	pprof.Do(p.ctx, pprof.Labels(label, id), func(context.Context) { own = fn() })
	return func() []string {
		var text bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&text, 1) // writing to memory does not fail
		var stacks []string
		for _, stack := range strings.Split(text.String(), "\n\n") {
			if strings.Contains(stack, id) && (strings.Contains(stack, modulePath) || (own != "" && strings.Contains(stack, own))) {
				stacks = append(stacks, stack)
			}
		}
		return stacks
	}
}

// packageOf returns the path of the package that declares the type of a value.
func packageOf(value any) string {
	t := reflect.TypeOf(value)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}
