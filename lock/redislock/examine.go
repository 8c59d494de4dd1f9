package redislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/internal/redisserver"
	"github.com/fencerow/fencerow/redisconn"
)

// Findings returns what of the server, as it was at Open, makes it more likely that grants are forgotten or end early, one sentence
// each with its remedy. In a cluster it is about one of the servers.
func (s *Service) Findings() []string { return s.findings }

// examine refuses a server that cannot keep even the weak promises and notes what weakens them further.
func (s *Service) examine(ctx context.Context) (cluster bool, err error) {
	key := "{" + s.opts.Namespace + "}:source"
	replies, err := s.conn.Do(ctx, key, redisconn.Command{"INFO"})
	if err == nil {
		err = replies[0].Err
	}
	if err != nil {
		return false, err
	}
	text, _ := replies[0].Value.(string)
	info := redisserver.ParseInfo(text)
	if err := redisserver.Refuse(info, "the counter, and numbers would start again"); err != nil {
		return false, err
	}
	s.findings = findings(info, s.opts.Replicas)
	return info["cluster_enabled"] == "1", nil
}

func findings(info map[string]string, replicas int) []string {
	var found []string
	if policy := info["maxmemory_policy"]; redisserver.Limited(info) && strings.HasPrefix(policy, "volatile-") {
		found = append(found, fmt.Sprintf("maxmemory-policy is %s: under memory pressure leases end early; set it to noeviction", policy))
	}
	if info["aof_enabled"] == "0" {
		found = append(found, "appendonly is off: a crash or restart forgets the latest grants; set appendonly yes and appendfsync always")
	}
	if n, err := strconv.Atoi(info["connected_slaves"]); err == nil && n > 0 && replicas == 0 {
		found = append(found, fmt.Sprintf("there are %d replicas and a grant does not wait for them: a fail-over forgets the latest grants; set Options.Replicas", n))
	}
	return found
}
