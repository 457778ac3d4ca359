-- The queries of the doctor.

-- name: doctor_indexes
SELECT c.relname::text FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = '{schema}' AND i.indisvalid;

-- name: doctor_audit_head
SELECT count(*) FROM "{schema}".audit_head;

-- name: last_sequence
SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "{schema}"."{table}_seq";

-- name: doctor_settings
-- The settings of a new session, whatever ours has set.
SELECT name, reset_val FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts',
               'autovacuum_naptime');

-- name: doctor_holders
SELECT kind, holder, coalesce(seconds, 0)::int8, coalesce(transactions, 0)
FROM "{schema}".horizon_holders();

-- name: doctor_leftovers
-- Live and dead rows, and seconds since the last vacuum; -1: there was none.
SELECT n_live_tup, n_dead_tup, coalesce(extract(epoch FROM clock_timestamp() -
         greatest(last_vacuum, last_autovacuum))::int8, -1)
FROM pg_stat_user_tables WHERE relid = '"{schema}"."{table}_outbox"'::regclass;

-- name: doctor_rights
SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE');
