#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

// A function without a search_path of its own looks names up in that of the caller. There a
// function or operator of another user is preferred if its argument types fit exactly and those of
// pg_catalog need a cast; it would run with the rights of the caller.
constexpr std::string_view rights_up = R"sql(
ALTER FUNCTION "{schema}".archive_ahead(text, integer) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".ulid_head(bigint) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".text_problem SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".headers_problem SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".message_problem SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".make_enqueue() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".take_sleeper() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".set_asleep SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".may_notify() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".payload_text SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".horizon_holders SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".row_changed() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".watch_table SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}".unwatch_table SET search_path = pg_catalog, pg_temp;

-- After `make_enqueue`, which makes these functions anew without what is set here. `enqueue` has
-- the rights of the owner of the tables: EXECUTE is all that a producer needs.
CREATE FUNCTION "{schema}".pin_enqueue() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  one regprocedure;
BEGIN
  ALTER FUNCTION "{schema}".new_id() SET search_path = pg_catalog, pg_temp;
  FOR one IN
    SELECT p.oid FROM pg_proc AS p
    WHERE p.pronamespace = '"{schema}"'::regnamespace AND p.proname = 'enqueue'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', one);
  END LOOP;
END
$body$;
SELECT "{schema}".pin_enqueue();

-- PUBLIC may not call what writes or belongs to relays and operators. Roles that could write
-- messages, or settle them, because of their rights on the tables, still can.
DO $body$
DECLARE
  one     record;
  allowed record;
BEGIN
  FOR one IN
    SELECT p.oid::regprocedure AS function,
           CASE WHEN p.proname IN ('enqueue', 'watch_table', 'unwatch_table', 'row_changed')
                THEN 'INSERT' ELSE 'DELETE' END AS privilege
    FROM pg_proc AS p
    WHERE p.pronamespace = '"{schema}"'::regnamespace
      AND p.proname IN ('enqueue', 'watch_table', 'unwatch_table', 'row_changed', 'make_enqueue',
                        'pin_enqueue', 'archive_ahead', 'take_sleeper', 'set_asleep')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', one.function);
    FOR allowed IN
      SELECT DISTINCT g.grantee, CASE g.grantee WHEN 0 THEN 'PUBLIC'
                                 ELSE g.grantee::regrole::text END AS name
      FROM "{schema}".outbox AS o
      JOIN pg_class AS c ON c.relname = o.name || '_outbox'
                        AND c.relnamespace = '"{schema}"'::regnamespace
      LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attacl IS NOT NULL
      CROSS JOIN LATERAL (SELECT * FROM aclexplode(c.relacl)
                          UNION ALL
                          SELECT * FROM aclexplode(a.attacl)) AS g
      WHERE g.privilege_type = one.privilege AND g.grantee <> c.relowner
    LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', one.function, allowed.name);
    END LOOP;
  END LOOP;
END
$body$;
)sql";

constexpr std::string_view rights_down = R"sql(
DO $body$
DECLARE
  one regprocedure;
BEGIN
  FOR one IN
    SELECT p.oid FROM pg_proc AS p
    WHERE p.pronamespace = '"{schema}"'::regnamespace
      AND p.proname IN ('enqueue', 'watch_table', 'unwatch_table', 'row_changed', 'make_enqueue',
                        'archive_ahead', 'take_sleeper', 'set_asleep')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', one);
  END LOOP;
END
$body$;
DROP FUNCTION "{schema}".pin_enqueue();
SELECT "{schema}".make_enqueue();
ALTER FUNCTION "{schema}".archive_ahead(text, integer) RESET search_path;
ALTER FUNCTION "{schema}".ulid_head(bigint) RESET search_path;
ALTER FUNCTION "{schema}".text_problem RESET search_path;
ALTER FUNCTION "{schema}".headers_problem RESET search_path;
ALTER FUNCTION "{schema}".message_problem RESET search_path;
ALTER FUNCTION "{schema}".make_enqueue() RESET search_path;
ALTER FUNCTION "{schema}".take_sleeper() RESET search_path;
ALTER FUNCTION "{schema}".set_asleep RESET search_path;
ALTER FUNCTION "{schema}".may_notify() RESET search_path;
ALTER FUNCTION "{schema}".payload_text RESET search_path;
ALTER FUNCTION "{schema}".horizon_holders RESET search_path;
ALTER FUNCTION "{schema}".row_changed() RESET search_path;
ALTER FUNCTION "{schema}".watch_table RESET search_path;
ALTER FUNCTION "{schema}".unwatch_table RESET search_path;
)sql";

// The sequence becomes that of an identity column: numbers are drawn without any right on it, and
// an explicit number is refused at no cost. Rights that were granted on the sequence are kept.
constexpr std::string_view rights_table_up = R"sql(
SELECT "{schema}".pin_enqueue();
ALTER FUNCTION "{schema}"."{table}_put" SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "{schema}"."{table}_first" SET search_path = pg_catalog, pg_temp;
REVOKE ALL ON FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first" FROM PUBLIC;
-- The library writes an id of the caller's own first, and looks afterwards whether its message had
-- ended meanwhile. It takes back only what its own transaction has written, so that nobody needs
-- DELETE for it.
CREATE FUNCTION "{schema}"."{table}_undo"(seqs bigint[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  WITH gone AS (
    DELETE FROM "{schema}"."{table}_outbox"
    WHERE seq = ANY (seqs) AND xid = pg_current_xact_id()
    RETURNING 1
  )
  SELECT count(*) FROM gone
$body$;
REVOKE ALL ON FUNCTION "{schema}"."{table}_undo" FROM PUBLIC;
DO $body$
DECLARE
  name text;
BEGIN
  FOR name IN
    SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END
    FROM pg_class AS c
    LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attacl IS NOT NULL
    CROSS JOIN LATERAL (SELECT * FROM aclexplode(c.relacl)
                        UNION ALL
                        SELECT * FROM aclexplode(a.attacl)) AS g
    WHERE c.oid = '"{schema}"."{table}_outbox"'::regclass
      AND g.privilege_type = 'INSERT' AND g.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION "{schema}"."{table}_undo" TO %s', name);
  END LOOP;
END
$body$;
-- It looks at the flags of sleeping relays, on which a producer has no right.
ALTER FUNCTION "{schema}"."{table}_wake"() SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

DO $body$
DECLARE
  rights  CONSTANT aclitem[] := (SELECT c.relacl FROM pg_class AS c
                                 WHERE c.oid = '"{schema}"."{table}_seq"'::regclass);
  next    bigint;
  command text;
BEGIN
  LOCK TABLE "{schema}"."{table}_outbox" IN ACCESS EXCLUSIVE MODE;
  SELECT s.last_value + s.is_called::integer INTO next FROM "{schema}"."{table}_seq" AS s;
  ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN seq DROP DEFAULT;
  DROP SEQUENCE "{schema}"."{table}_seq";
  EXECUTE format('ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN seq '
                 'ADD GENERATED ALWAYS AS IDENTITY '
                 '(SEQUENCE NAME "{schema}"."{table}_seq" START WITH %s CACHE 1)', next);
  FOR command IN
    SELECT format('GRANT %s ON SEQUENCE "{schema}"."{table}_seq" TO %s', g.privilege_type,
                  CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END)
    FROM aclexplode(rights) AS g
    WHERE g.grantee <> (SELECT c.relowner FROM pg_class AS c
                        WHERE c.oid = '"{schema}"."{table}_outbox"'::regclass)
  LOOP
    EXECUTE command;
  END LOOP;
END
$body$;

-- `enqueue` has the rights of its owner, which may be another than the one of this outbox.
DO $body$
DECLARE
  writer CONSTANT regrole := (SELECT p.proowner FROM pg_proc AS p
                              WHERE p.oid = '"{schema}".pin_enqueue()'::regprocedure);
BEGIN
  IF writer = (SELECT c.relowner FROM pg_class AS c
               WHERE c.oid = '"{schema}"."{table}_outbox"'::regclass) THEN
    RETURN;
  END IF;
  EXECUTE format('GRANT SELECT, INSERT, DELETE ON "{schema}"."{table}_outbox" TO %s', writer);
  EXECUTE format('GRANT SELECT ON "{schema}"."{table}_dead", "{schema}"."{table}_archive" TO %s',
                 writer);
  EXECUTE format('GRANT EXECUTE ON FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first" '
                 'TO %s', writer);
END
$body$;
)sql";

constexpr std::string_view rights_table_down = R"sql(
DO $body$
DECLARE
  rights  CONSTANT aclitem[] := (SELECT c.relacl FROM pg_class AS c
                                 WHERE c.oid = '"{schema}"."{table}_seq"'::regclass);
  next    bigint;
  command text;
BEGIN
  LOCK TABLE "{schema}"."{table}_outbox" IN ACCESS EXCLUSIVE MODE;
  SELECT s.last_value + s.is_called::integer INTO next FROM "{schema}"."{table}_seq" AS s;
  ALTER TABLE "{schema}"."{table}_outbox" ALTER COLUMN seq DROP IDENTITY;
  EXECUTE format('CREATE SEQUENCE "{schema}"."{table}_seq" AS bigint START WITH %s CACHE 1', next);
  ALTER TABLE "{schema}"."{table}_outbox"
    ALTER COLUMN seq SET DEFAULT nextval('"{schema}"."{table}_seq"');
  ALTER SEQUENCE "{schema}"."{table}_seq" OWNED BY "{schema}"."{table}_outbox".seq;
  FOR command IN
    SELECT format('GRANT %s ON SEQUENCE "{schema}"."{table}_seq" TO %s', g.privilege_type,
                  CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END)
    FROM aclexplode(rights) AS g
    WHERE g.grantee <> (SELECT c.relowner FROM pg_class AS c
                        WHERE c.oid = '"{schema}"."{table}_outbox"'::regclass)
  LOOP
    EXECUTE command;
  END LOOP;
END
$body$;
DROP FUNCTION IF EXISTS "{schema}"."{table}_undo";
ALTER FUNCTION "{schema}"."{table}_wake"() SECURITY INVOKER RESET search_path;
ALTER FUNCTION "{schema}"."{table}_put" RESET search_path;
ALTER FUNCTION "{schema}"."{table}_first" RESET search_path;
GRANT EXECUTE ON FUNCTION "{schema}"."{table}_put", "{schema}"."{table}_first" TO PUBLIC;
)sql";

}  // namespace

Migration rights_step() noexcept {
  return {5, "rights", rights_up, rights_down, rights_table_up, rights_table_down};
}

}  // namespace sagabox::postgres
