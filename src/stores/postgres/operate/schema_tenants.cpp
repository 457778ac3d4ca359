#include "core/text.hpp"
#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

// The column is created again, with everything that refers to it: indexes, the views of this
// schema, and the grants on it and on them.
constexpr std::string_view rebuild_shard = R"sql(
DO $shard$
DECLARE
  outbox  CONSTANT regclass := '"{schema}"."{table}_outbox"';
  again   text[] := array(
    SELECT format('GRANT %s (shard) ON %s TO %s', g.privilege_type, outbox,
                  CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END)
    FROM pg_attribute a, aclexplode(a.attacl) AS g
    WHERE a.attrelid = outbox AND a.attname = 'shard');
  one     record;
  command text;
BEGIN
  FOR one IN
    SELECT DISTINCT i.indexrelid AS id
    FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
         JOIN pg_index i ON i.indexrelid = d.objid
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid = outbox AND a.attname = 'shard'
    ORDER BY 1
  LOOP
    again := again || pg_get_indexdef(one.id);
  END LOOP;
  FOR one IN
    SELECT DISTINCT v.oid AS id
    FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
         JOIN pg_rewrite r ON r.oid = d.objid
         JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v'
         JOIN pg_namespace n ON n.oid = v.relnamespace AND n.nspname = '{schema}'
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid = outbox AND a.attname = 'shard'
    ORDER BY 1
  LOOP
    again := again || format('CREATE VIEW %s AS %s', one.id::regclass, pg_get_viewdef(one.id));
    again := again || array(
      SELECT format('GRANT %s ON %s TO %s', g.privilege_type, one.id::regclass,
                    CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END)
      FROM pg_class v, aclexplode(v.relacl) AS g WHERE v.oid = one.id AND g.grantee <> v.relowner);
    EXECUTE format('DROP VIEW %s', one.id::regclass);
  END LOOP;
  EXECUTE format(
    'ALTER TABLE %s DROP COLUMN shard, ADD COLUMN shard smallint NOT NULL GENERATED ALWAYS AS '
    '((coalesce({hash} & 2147483647::bigint, seq) %% %s::bigint)::smallint) STORED', outbox,
    (SELECT o.shards FROM "{schema}".outbox AS o WHERE o.name = '{table}'));
  FOREACH command IN ARRAY again LOOP
    EXECUTE command;
  END LOOP;
END
$shard$;
)sql";

constexpr std::string_view tenants_up = R"sql(
ALTER TABLE "{schema}".replay_job ADD COLUMN skipped bigint NOT NULL DEFAULT 0;
)sql";

constexpr std::string_view tenants_down = R"sql(
ALTER TABLE "{schema}".replay_job DROP COLUMN skipped;
)sql";

// Messages change shards, so delivery must stop meanwhile: another owner would begin with the later
// messages of a key while the first still processes the earlier ones. Locks are taken in the same
// order as in a reshard. A worker that joins meanwhile waits, and gets its shards at higher epochs.
constexpr std::string_view stop_relays = R"sql(
LOCK TABLE "{schema}"."{table}_outbox", "{schema}"."{table}_dead" IN ACCESS EXCLUSIVE MODE;
SELECT FROM "{schema}".scope WHERE name = 'outbox:{table}' FOR UPDATE;
SELECT FROM "{schema}".shard_owner WHERE scope = 'outbox:{table}' ORDER BY shard FOR UPDATE;
DO $body$
DECLARE
  relays CONSTANT bigint := (
    SELECT count(*) FROM "{schema}".worker AS w
    WHERE w.lease_until > clock_timestamp()
      AND (EXISTS (SELECT FROM "{schema}".member AS m
                   WHERE m.worker = w.id AND m.scope = 'outbox:{table}')
        OR EXISTS (SELECT FROM "{schema}".shard_owner AS o
                   WHERE o.owner = w.id AND o.scope = 'outbox:{table}')));
BEGIN
  IF relays > 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'object_in_use', MESSAGE =
      format('%s relays run on outbox {table}, whose messages change shards', relays);
  END IF;
END
$body$;
DELETE FROM "{schema}"."{table}_claim";
DELETE FROM "{schema}".member WHERE scope = 'outbox:{table}';
UPDATE "{schema}".shard_owner SET owner = NULL, epoch = epoch + 1 WHERE scope = 'outbox:{table}';
)sql";

// Look-ups start with the id, and ids grow, so that the index grows at one end. Dead messages are
// identified by their sequence: an id may be used again after its message has ended.
constexpr std::string_view by_tenant = R"sql(
DO $body$
BEGIN
  EXECUTE format('DROP INDEX %I.%I', '{schema}', '{table}_outbox_id');
  EXECUTE format('DROP INDEX %I.%I', '{schema}', '{table}_dead_id');
END
$body$;
CREATE UNIQUE INDEX "{table}_outbox_id" ON "{schema}"."{table}_outbox" (id, tenant);
CREATE INDEX "{table}_dead_id" ON "{schema}"."{table}_dead" (id);
DROP FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first";
)sql";

constexpr std::string_view by_id = R"sql(
DO $body$
BEGIN
  EXECUTE format('DROP INDEX %I.%I', '{schema}', '{table}_outbox_id');
  EXECUTE format('DROP INDEX %I.%I', '{schema}', '{table}_dead_id');
END
$body$;
CREATE UNIQUE INDEX "{table}_outbox_id" ON "{schema}"."{table}_outbox" (id);
CREATE UNIQUE INDEX "{table}_dead_id" ON "{schema}"."{table}_dead" (id);
DROP FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first";
)sql";

// These functions as they were after step 5.
constexpr std::string_view functions = R"sql(
{put}
ALTER FUNCTION "{schema}"."{table}_put" SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}"."{table}_first" SET search_path = pg_catalog, pg_temp;
REVOKE ALL ON FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first" FROM PUBLIC;
DO $body$
BEGIN
  EXECUTE format('GRANT EXECUTE ON FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first" '
                 'TO %s', (SELECT p.proowner::regrole FROM pg_proc AS p
                           WHERE p.oid = '"{schema}".pin_enqueue()'::regprocedure));
END
$body$;
)sql";

std::string table_change(std::string_view indexes, std::string_view hash, IdScope scope) {
  return std::string(stop_relays) + rebuild_shard_sql(hash) + std::string(indexes) +
         replaced(functions, "{put}", put_functions(scope));
}

}  // namespace

std::string rebuild_shard_sql(std::string_view hash) {
  return replaced(rebuild_shard, "{hash}", hash);
}

Migration tenants_step() {
  static const auto table_up = table_change(by_tenant, tenant_key_hash_sql, IdScope::tenant);
  static const auto table_down = table_change(by_id, key_hash_sql, IdScope::outbox);
  return {6, "tenants", tenants_up, tenants_down, table_up, table_down};
}

}  // namespace sagabox::postgres
