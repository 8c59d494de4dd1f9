package etcdlock

import "testing"

// Servers that are too old are not at hand, so what they say of themselves is judged alone.
func TestServersThatAreTooOld(t *testing.T) {
	for version, old := range map[string]bool{"3.2.32": true, "2.3.8": true, "3.3.0": false, "3.4.23": false, "3.7.3": false, "4.0.0": false, "": false} {
		if err := tooOld(version); (err != nil) != old {
			t.Errorf("etcd %s: %v", version, err)
		}
	}
}
