-- The queries of the doctor.

-- name: doctor_indexes
SELECT name FROM sqlite_schema WHERE type = 'index';

-- name: doctor_audit_head
SELECT count(*) FROM sagabox_audit_head;

-- name: last_sequence
-- The last sequence that was assigned: the last of the normal lane, or the last outside of it.
SELECT max(seq, coalesce((SELECT place FROM "{table}_pending"
                          WHERE place >= 105553116266496
                          ORDER BY place DESC LIMIT 1) - 105553116266496, 0))
FROM sagabox_outbox WHERE name = '{table}';

-- name: doctor_journal
PRAGMA journal_mode;

-- name: doctor_pages
SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count;

-- name: doctor_check
-- Returns "ok", or the first damage found. Takes long on a large file.
PRAGMA quick_check(1);
