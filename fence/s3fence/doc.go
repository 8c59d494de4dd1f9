// Package s3fence makes an object store refuse the writes of a superseded lock holder, by the conditional writes of S3 and of stores that
// speak its protocol.
//
// # The manifest
//
// [Store] keeps the data of a resource in objects whose keys are used once, and beside them one small manifest that names the current one
// and carries the mark. A write uploads its data, then swaps the manifest on the condition that nobody has swapped it since it was read;
// the data of whoever loses is never referred to. Every swap writes a random id into the manifest's body, because an ETag is no version:
// on S3 it is a digest of the body. A claim swaps the manifest too, so that it stands before anything is read.
//
// The comparison is made in the client, and holds all the same: the condition ties the swap to the version that was compared. A manifest
// is never deleted, so that deleting data does not lower the mark.
//
// # Without conditional writes
//
// [Keyed] has the token in the key of the data, and readers take the highest. It needs no conditions, and promises less: see there.
//
// # Stores
//
// Whether a store makes its conditions atomic must be tried out: several that claim to be compatible let two writers win, or ignore the
// headers. [Open] asks the store a few questions before it returns, and [Probe] races many writers against each other; both refuse
// with [ErrUnsafeStore]. Conditions must hold on PUT; the fence never relies on those of DELETE or of copies.
package s3fence
