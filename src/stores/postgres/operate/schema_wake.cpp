#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

// The value of a sequence records which processes sleep: a bit for each sleeping process below bit
// 31, and above it the second until which that is valid. A sequence is read and written outside of
// snapshots: a transaction of any isolation level sees a flag that was raised a moment ago, and
// there is no bloat.
constexpr std::string_view wake_up = R"sql(
-- The lowest number that no other process of this schema has: held by the session, so that it is
-- free again when the session ends. NULL when all are taken.
CREATE FUNCTION "{schema}".take_sleeper() RETURNS integer
LANGUAGE plpgsql AS $body$
BEGIN
  FOR number IN 0 .. 30 LOOP
    IF pg_try_advisory_lock(hashtext('sagabox sleepers of {schema}'), number) THEN
      RETURN number;
    END IF;
  END LOOP;
  RETURN NULL;
END
$body$;

-- Sets or takes back the flag of one sleeper, and clears those of sessions that are gone. Holds at
-- once, not at commit; without being set again it is void after ten seconds.
CREATE FUNCTION "{schema}".set_asleep(flags regclass, sleeper integer, asleep boolean) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
  now_is   bigint := date_part('epoch', pg_catalog.clock_timestamp());
  mine     bigint := 1::bigint << sleeper;
  was      bigint;
  sleepers bigint := 0;
  until    bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('sagabox flags ' || flags::oid, 0));
  was := coalesce(pg_sequence_last_value(flags), 0);
  until := was >> 31;
  IF until > now_is THEN sleepers := was & 2147483647 & ~mine; END IF;
  IF sleepers <> 0 THEN
    SELECT sleepers & coalesce(bit_or(1::bigint << l.objid::integer), 0) INTO sleepers
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid::bigint BETWEEN 0 AND 30
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
      AND l.classid::bigint = hashtext('sagabox sleepers of {schema}')::bigint & 4294967295;
  END IF;
  IF asleep THEN
    sleepers := sleepers | mine;
    until := now_is + 10;
  END IF;
  PERFORM setval(flags, until << 31 | sleepers);
END
$body$;

-- A transaction that sent a NOTIFY cannot be prepared: where there may be prepared ones, none is
-- sent unless sagabox.notify says so.
CREATE FUNCTION "{schema}".may_notify() RETURNS boolean
LANGUAGE sql STABLE AS $body$
  SELECT CASE current_setting('sagabox.notify', true)
         WHEN 'on' THEN true
         WHEN 'off' THEN false
         ELSE current_setting('max_prepared_transactions') = '0' END
$body$;
)sql";

constexpr std::string_view wake_down = R"sql(
DROP FUNCTION "{schema}".may_notify(), "{schema}".set_asleep(regclass, integer, boolean),
  "{schema}".take_sleeper();
)sql";

// After the insert: a reader that raised the flag before sees the row or is notified, a reader that
// raises it later waits for this transaction to end.
constexpr std::string_view wake_table_up = R"sql(
CREATE SEQUENCE "{schema}"."{table}_flags" AS bigint MINVALUE 0 START 0 CACHE 1;

CREATE FUNCTION "{schema}"."{table}_wake"() RETURNS trigger
LANGUAGE plpgsql AS $body$
DECLARE
  flags CONSTANT bigint := pg_sequence_last_value('"{schema}"."{table}_flags"');
BEGIN
  IF flags & 2147483647 <> 0
     AND flags >> 31 > date_part('epoch', pg_catalog.clock_timestamp())
     AND "{schema}".may_notify() THEN
    PERFORM pg_notify('sagabox {schema}', '{table}');
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER "{table}_wake" AFTER INSERT ON "{schema}"."{table}_outbox"
  FOR EACH STATEMENT EXECUTE FUNCTION "{schema}"."{table}_wake"();
)sql";

constexpr std::string_view wake_table_down = R"sql(
DROP TRIGGER "{table}_wake" ON "{schema}"."{table}_outbox";
DROP FUNCTION "{schema}"."{table}_wake"();
DROP SEQUENCE "{schema}"."{table}_flags";
)sql";

}  // namespace

Migration wake_step() noexcept {
  return {3, "wake", wake_up, wake_down, wake_table_up, wake_table_down};
}

}  // namespace sagabox::postgres
