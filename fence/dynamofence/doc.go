// Package dynamofence makes DynamoDB refuse the writes of a superseded lock holder: every write carries a condition that compares the
// stamp with what the item stores, and records the stamp in the same request.
//
// There are two forms. Use one of them for a resource, not both.
//
//   - [Items] fences single items, for resources that are one item each. The mark is in four attributes of the item.
//   - [Guard] fences transactions of up to 99 actions, for resources that are many items. The mark is in a guard item of its own, which
//     is one more action of each transaction.
//
// # How to work
//
// Claim first, then read, then write: [Items.Claim] raises the mark and returns the item; [Guard.Tx] claims, lets you read, and sends what
// you have built. From the claim on no write of an older holder is accepted. What a holder has read before its claim may be overwritten by
// an older one, so a write without a claim is refused with [fencerow.ErrUnclaimed].
//
// Your own expressions stay as they are. The fence adds its condition to yours and its assignments to your update expression; names and
// values that begin with #fencerow_ and :fencerow_ are its own, and its attributes are not yours to write.
//
// # What it promises
//
// Everything that a fence promises, within one Region. The SDK does not retry conditional writes here, because its second attempt fails at
// the condition that the first one has changed; the fence sends the same stamp again instead, and a duplicate after a lost answer is
// applied. ClientRequestToken is not relied on: DynamoDB forgets it after ten minutes.
//
// # What it needs
//
//   - Fence items must not expire: a table with a time to live is refused when it is opened.
//   - Replicas of a global table with eventual consistency compare a condition with what they have received so far. Such a table is refused
//     unless AllowReplicas says that each resource is written in one Region only.
//   - The rights dynamodb:DescribeTable and dynamodb:DescribeTimeToLive, besides those for reading and writing items.
//   - Everybody must write through the fence. PutItem, DeleteItem, BatchWriteItem and PartiQL of other programs go around it, and no policy
//     of IAM can demand a condition. An item that is deleted around the fence has lost its mark.
package dynamofence
