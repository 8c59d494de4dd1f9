-- Who keeps the session from going on: not those who wait as well, but those at the end of the chain.
WITH RECURSIVE chain (pid) AS (
    SELECT unnest(pg_blocking_pids({session}::integer))
     UNION
    SELECT unnest(pg_blocking_pids(chain.pid)) FROM chain
)
SELECT a.pid, COALESCE(a.usename, ''), COALESCE(a.application_name, ''), COALESCE(host(a.client_addr), 'local'), COALESCE(a.state, ''),
       COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start), 0)::bigint, COALESCE(left(a.query, 200), '')
  FROM chain
  JOIN pg_stat_activity a ON a.pid = chain.pid
 WHERE a.wait_event_type IS DISTINCT FROM 'Lock';
