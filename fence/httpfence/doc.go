// Package httpfence carries stamps over HTTP, so that a service refuses the requests of a superseded lock holder.
//
// # The client
//
// [Transport] writes the stamp of a request, which travels in its context, into the header Fence-Token, and turns the service's answer
// back into the errors of package fencerow: a stale answer cancels the lease that issued the stamp. A request without a stamp is refused
// before it is sent.
//
// # The service
//
// [Require] asks for the header, and hands the stamp to the handler by its signature, so that forgetting it does not compile. It decides
// nothing: a comparison in front of the handler would be over before the handler writes, and each replica would make its own. The decision
// belongs into the handler's own transaction, to a fence at the resource; the handler returns what the fence says, and it becomes the
// answer:
//
//	mux.Handle("POST /accounts/{id}/debit", httpfence.Require(
//		func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
//			account := fencerow.Resource("account/" + r.PathValue("id"))
//			return gate.Tx(r.Context(), stamp, account, func(ctx context.Context, tx *sqlfence.Tx) error { … })
//		}))
//
// # Answers
//
// A refusal is a problem document of RFC 9457 with one of the types urn:fencerow:problem:… and numbers as decimal text:
//
//	400 malformed header            409 duplicate grant, out of order, unclaimed, other source, implausible, conflict
//	404 missing                     412 stale
//	422 the caller's own condition  428 no header, or an unfenced row
//	500 anything else, without its text
//	503 outcome unknown, or the store was not reached: send the same stamp again
//
// A duplicate is a success, 200 with the header "Fence-Result: duplicate".
package httpfence
