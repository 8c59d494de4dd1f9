package httpfence

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow"
)

// IdempotencyKey returns a key for a service that knows no stamps but recognizes a request that is sent twice, by a header such as
// Idempotency-Key: the SHA-256 of source, resource, number, grant and step, in hexadecimal. It is the same whoever sends the stamp, and
// another for each operation. It gives deduplication, for as long as the service remembers keys, and no order: a superseded holder's
// request is accepted.
func IdempotencyKey(stamp fencerow.Stamp) (string, error) {
	if err := stamp.Check(stamp.Token().Resource()); err != nil {
		return "", err
	}
	token := stamp.Token()
	// No part has a control character, so that no two stamps have the same text.
	sum := sha256.Sum256([]byte(strings.Join([]string{
		token.Source(), string(token.Resource()), strconv.FormatInt(token.Number(), 10), token.GrantID(), strconv.FormatInt(stamp.Step(), 10),
	}, "\x00")))
	return hex.EncodeToString(sum[:]), nil
}
