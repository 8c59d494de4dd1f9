-- The same on MySQL 8.
SELECT w.blocking_pid, COALESCE(p.user, ''), '', COALESCE(p.host, ''), COALESCE(p.command, ''),
       w.blocking_trx_age + 0, LEFT(COALESCE(w.blocking_query, ''), 200)
  FROM sys.innodb_lock_waits w
  LEFT JOIN information_schema.processlist p ON p.id = w.blocking_pid
 WHERE w.waiting_pid = {session}
   AND w.blocking_query IS NULL; -- those with a statement under way wait as well
