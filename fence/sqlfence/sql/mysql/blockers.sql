-- Who keeps the session from going on, on MariaDB: not those who wait as well.
SELECT b.trx_mysql_thread_id, COALESCE(p.user, ''), '', COALESCE(p.host, ''), COALESCE(p.command, ''),
       TIMESTAMPDIFF(SECOND, b.trx_started, NOW()), LEFT(COALESCE(b.trx_query, ''), 200)
  FROM information_schema.innodb_trx r
  JOIN information_schema.innodb_lock_waits w ON w.requesting_trx_id = r.trx_id
  JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id
  LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id
 WHERE r.trx_mysql_thread_id = {session}
   AND b.trx_state <> 'LOCK WAIT';
