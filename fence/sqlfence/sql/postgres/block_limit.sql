-- In the claim's own transaction. The session, and a limit in ms for its waits.
SELECT pg_backend_pid(), set_config('lock_timeout', {limit}, true);
