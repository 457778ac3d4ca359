-- The day partitions of the archive.

-- name: archive_ahead
-- The purger runs every hour, so partitions exist long before their days begin.
SELECT "{schema}".archive_ahead('{table}', 3);

-- name: old_days
-- Partitions of the archive that end longer ago than $1 microseconds, oldest first, and the
-- server's estimate of their rows. Yesterday is excluded: archive_ahead would make it again.
SELECT format('%I.%I', n.nspname, day.relname),
       greatest(pg_stat_get_live_tuples(day.oid), day.reltuples::int8)
FROM pg_inherits AS i
JOIN pg_class AS day ON day.oid = i.inhrelid
JOIN pg_namespace AS n ON n.oid = day.relnamespace
CROSS JOIN (SELECT clock_timestamp() AS at) AS now
CROSS JOIN LATERAL (
  SELECT (regexp_match(pg_get_expr(day.relpartbound, day.oid),
                       'TO \(''([^'']+)''\)'))[1]::timestamptz AS until
) AS bound
WHERE i.inhparent = '"{schema}"."{table}_archive"'::regclass
  AND bound.until <= now.at - $1 * interval '1 microsecond'
  AND bound.until <= ((now.at AT TIME ZONE 'UTC')::date - 1)::timestamp AT TIME ZONE 'UTC'
ORDER BY bound.until;

-- name: lock_archive
LOCK TABLE ONLY "{schema}"."{table}_archive" IN ACCESS EXCLUSIVE MODE;
