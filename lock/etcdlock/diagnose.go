package etcdlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// diagnoseTimeout bounds each of the two attempts.
const diagnoseTimeout = time.Second

// diagnose finds out why no etcd answers. The client keeps trying until the context ends and then only says that it has ended.
func (s *Service) diagnose(err error) error {
	code := status.Code(err)
	if !errors.Is(err, context.DeadlineExceeded) && code != codes.Unavailable && code != codes.DeadlineExceeded {
		return s.explain(err)
	}
	for _, endpoint := range s.client.Endpoints() {
		host, secure := strings.CutPrefix(endpoint, "https://")
		host = strings.TrimPrefix(host, "http://")
		if found := diagnoseOne(host, secure); found != "" {
			return fmt.Errorf("%s: %w", found, err)
		}
	}
	return s.explain(err)
}

// diagnoseOne looks at one endpoint. It tells nothing and trusts nothing: the certificate is not looked at, and the connection is
// closed after the handshake.
func diagnoseOne(host string, secure bool) string {
	dialer := &net.Dialer{Timeout: diagnoseTimeout}
	conn, err := dialer.Dial("tcp", host)
	if err != nil {
		return fmt.Sprintf("nothing answers at %s: check the endpoints, and that etcd runs", host)
	}
	_ = conn.Close()
	handshake, err := tls.DialWithDialer(dialer, "tcp", host, &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		_ = handshake.Close()
	}
	speaksTLS := err == nil || strings.Contains(err.Error(), "remote error: tls:") // an alert, such as one for a missing certificate
	switch {
	case secure && !speaksTLS:
		return fmt.Sprintf("etcd at %s speaks plain text and the client TLS: use an http:// endpoint without the client's TLS", host)
	case secure:
		return fmt.Sprintf("the certificates of the client and of etcd at %s do not fit: check the client's TLS configuration", host)
	case speaksTLS:
		return fmt.Sprintf("etcd at %s demands TLS: use an https:// endpoint and the client's TLS", host)
	}
	return ""
}
