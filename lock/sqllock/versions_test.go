package sqllock

import "testing"

// Servers that are too old are not at hand, so what they say of themselves is judged alone.
func TestServersThatAreTooOld(t *testing.T) {
	for version, old := range map[string]bool{"90624": true, "100023": true, "110000": false, "150018": false, "devel": false} {
		if err := postgresTooOld(version); (err != nil) != old {
			t.Errorf("PostgreSQL %s: %v", version, err)
		}
	}
	for version, old := range map[string]bool{
		"5.7.44-log": true, "8.0.36": false, "8.4.0": false, "10.2.44-MariaDB": true, "10.3.39-MariaDB": false,
		"5.5.5-10.11.6-MariaDB-1": false, "10.11.19-MariaDB-0+deb12u1": false, "11.4.2-MariaDB": false, "none": false,
	} {
		if err := mysqlTooOld(version); (err != nil) != old {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestMySQLSettings(t *testing.T) {
	good := mysqlSettings{version: "8.0.36", flush: 1, binlog: 1, sync: 1, autocommit: 1}
	if err := good.check(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for _, change := range []func(*mysqlSettings){
		func(m *mysqlSettings) { m.version, m.flush = "11.4.2-MariaDB", 3 },
		func(m *mysqlSettings) { m.binlog, m.sync = 0, 0 },
	} {
		m := good
		if change(&m); m.check() != nil {
			t.Errorf("%+v: %v", m, m.check())
		}
	}
	for _, change := range []func(*mysqlSettings){
		func(m *mysqlSettings) { m.version = "5.7.44" },
		func(m *mysqlSettings) { m.flush = 0 },
		func(m *mysqlSettings) { m.flush = 2 },
		func(m *mysqlSettings) { m.flush = 3 },
		func(m *mysqlSettings) { m.sync = 0 },
		func(m *mysqlSettings) { m.autocommit = 0 },
	} {
		m := good
		if change(&m); m.check() == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
}
