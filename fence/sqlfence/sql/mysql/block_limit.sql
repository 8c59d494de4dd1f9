-- In the claim's own transaction. The session, and what its limit was, in s.
SELECT CONNECTION_ID(), @@innodb_lock_wait_timeout;
