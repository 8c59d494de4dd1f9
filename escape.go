package fencerow

import (
	"errors"
	"strings"
)

// plainByte reports whether a byte stands for itself in the text form of a token. The set is safe unquoted in shells,
// headers, URLs and JSON.
func plainByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-._/@", c) >= 0
}

const hexDigits = "0123456789ABCDEF"

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; plainByte(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// unescape accepts what escape writes and nothing else, so that a token has one text only.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			hi, lo := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
			if hi < 0 || lo < 0 || plainByte(byte(hi<<4|lo)) {
				return "", errors.New("bad percent escape")
			}
			b.WriteByte(byte(hi<<4 | lo))
			i += 2
			continue
		}
		if !plainByte(c) {
			return "", errors.New("character that should be percent-encoded")
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}
