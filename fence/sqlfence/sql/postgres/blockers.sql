-- Who keeps the session from going on.
SELECT pid, COALESCE(usename, ''), COALESCE(application_name, ''), COALESCE(client_addr::text, 'local'), COALESCE(state, ''),
       COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - xact_start), 0)::bigint, COALESCE(left(query, 200), '')
  FROM pg_stat_activity
 WHERE pid = ANY (pg_blocking_pids({session}::integer));
