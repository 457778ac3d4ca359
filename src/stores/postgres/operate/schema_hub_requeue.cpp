#include "stores/postgres/operate/schema_steps.hpp"

#include <string>

namespace sagabox::postgres {
namespace {

// All that an operator may call writes to the audit log: `hub_requeue`, which does not, is theirs.
constexpr std::string_view audited_requeue_up = R"sql(
-- A text in an entry of the audit log: its length, and its bytes.
CREATE FUNCTION "{schema}".hub_audit_text(value text) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $body$
  SELECT int8send(octet_length(convert_to(value, 'UTF8'))::bigint) || convert_to(value, 'UTF8')
$body$;
REVOKE ALL ON FUNCTION "{schema}".hub_audit_text FROM PUBLIC;

-- Appends to the audit log of whoever migrated, as the library does: each entry has the hash of the
-- one before. Where the log ends is locked until the transaction ends.
CREATE FUNCTION "{schema}".hub_audit(
  kind text, tenant text, topic text, message_id text, attempt integer, code text, detail text,
  actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  nothing CONSTANT bytea       := decode(repeat('00', 32), 'hex');
  moment  CONSTANT timestamptz := clock_timestamp();
  head    record;
  hash    bytea;
BEGIN
  SELECT h.number, h.hash INTO head FROM "{schema}".audit_head AS h FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE =
      'the row of audit_head is missing; the audit log cannot be written';
  END IF;
  hash := sha256(
    '\x01'::bytea || int8send(head.number + 1) || head.hash || "{schema}".hub_audit_text(kind)
    || int8send(round(extract(epoch FROM moment) * 1000000)::bigint)
    || "{schema}".hub_audit_text('hub') || "{schema}".hub_audit_text(tenant)
    || "{schema}".hub_audit_text(topic) || "{schema}".hub_audit_text(message_id)
    || int4send(attempt) || nothing || "{schema}".hub_audit_text('')
    || "{schema}".hub_audit_text(code) || "{schema}".hub_audit_text(detail)
    || "{schema}".hub_audit_text(actor));
  INSERT INTO "{schema}".audit_log (
    number, kind, at, outbox, tenant, topic, message_id, attempt, digest, traceparent, code,
    detail, actor, previous, hash)
  VALUES (
    head.number + 1, kind, moment, 'hub', convert_to(tenant, 'UTF8'), convert_to(topic, 'UTF8'),
    convert_to(message_id, 'UTF8'), attempt, nothing, '', convert_to(code, 'UTF8'),
    convert_to(detail, 'UTF8'), convert_to(actor, 'UTF8'), head.hash, hash);
  UPDATE "{schema}".audit_head SET number = head.number + 1, hash = hash;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".hub_audit FROM PUBLIC;

-- Inserts the next generation of a dead delivery, due at once and last in its key. With `made` it
-- is new; without, it was there; with nulls there is no dead one. Says nothing to the audit log.
CREATE FUNCTION "{schema}".hub_requeue(delivery text, OUT id text, OUT made boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  dead "{schema}".hub_delivery;
BEGIN
  SELECT d.* INTO dead FROM "{schema}".hub_delivery AS d WHERE d.id = delivery;
  IF dead.state IS DISTINCT FROM 'dead' THEN RETURN; END IF;
  id := 'd' || left(encode(sha256(convert_to(
    dead.event || ' ' || dead.subscription || ' ' || (dead.generation + 1), 'UTF8')), 'hex'), 32);
  INSERT INTO "{schema}".hub_delivery (
    id, event, subscription, generation, tenant, type, key, shard, correlation_id,
    next_attempt_at, created_at)
  VALUES (id, dead.event, dead.subscription, dead.generation + 1, dead.tenant, dead.type,
          dead.key, dead.shard, dead.correlation_id, clock_timestamp(), clock_timestamp())
  ON CONFLICT DO NOTHING;
  made := FOUND;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".hub_requeue FROM PUBLIC;

-- What the library calls: the next generations of these dead deliveries, or of those of them that
-- are of this tenant, in this order. Returns the ones whose next generation is new; each is in the
-- audit log, with its detail and actor if there are any. Who may not write to the log itself is
-- always in it, by name.
CREATE FUNCTION "{schema}".requeue(deliveries text[], tenant text, details text[], actors text[])
RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  trusted CONSTANT boolean := has_table_privilege(session_user, '"{schema}".audit_log', 'INSERT');
  dead    "{schema}".hub_delivery;
  answer  record;
  place   integer;
BEGIN
  -- First of all, so that requeues take turns: inserts and entries alternate below.
  IF NOT trusted OR cardinality(actors) > 0 THEN
    PERFORM FROM "{schema}".audit_head FOR UPDATE;
  END IF;
  FOR place IN 1 .. cardinality(deliveries) LOOP
    SELECT d.* INTO dead FROM "{schema}".hub_delivery AS d
    WHERE d.id = deliveries[place] AND d.state = 'dead' AND (tenant IS NULL OR d.tenant = tenant);
    CONTINUE WHEN NOT FOUND;
    SELECT * INTO answer FROM "{schema}".hub_requeue(dead.id);
    CONTINUE WHEN answer.made IS NOT TRUE;
    IF NOT trusted OR cardinality(actors) > 0 THEN
      PERFORM "{schema}".hub_audit(
        'HubDeliveryRequeued', dead.tenant, dead.type, dead.id, dead.attempt, dead.code,
        left(coalesce(details[place], ''), 512),
        ltrim(left(coalesce(actors[place], ''), 255)
              || CASE WHEN trusted THEN '' ELSE ' (' || session_user || ')' END));
    END IF;
    RETURN NEXT dead.id;
  END LOOP;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".requeue(text[], text, text[], text[]) FROM PUBLIC;

-- Sends a dead delivery once more. Returns the id of its next generation; repeated, it finds it.
-- With a tenant, only this one's are found. The audit log says which user did it.
CREATE OR REPLACE FUNCTION "{schema}".requeue(delivery text, tenant text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_variable
DECLARE
  dead   "{schema}".hub_delivery;
  answer record;
BEGIN
  SELECT d.* INTO dead FROM "{schema}".hub_delivery AS d
  WHERE d.id = delivery AND d.state = 'dead' AND (tenant IS NULL OR d.tenant = tenant);
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format(
      'delivery: there is no dead one %L; only dead deliveries are sent again', delivery);
  END IF;
  PERFORM FROM "{schema}".hub_subscription AS s
  WHERE s.id = dead.subscription AND s.state = 'disabled';
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = format(
      'delivery: subscription %s of %L is disabled, and what is requeued would die at once; '
      'enable it first', dead.subscription, delivery);
  END IF;
  PERFORM FROM "{schema}".audit_head FOR UPDATE;
  SELECT * INTO answer FROM "{schema}".hub_requeue(delivery);
  IF answer.made THEN
    PERFORM "{schema}".hub_audit(
      'HubDeliveryRequeued', dead.tenant, dead.type, dead.id, dead.attempt, dead.code,
      'requeue() in SQL', session_user::text);
    RETURN answer.id;
  END IF;
  PERFORM FROM "{schema}".hub_delivery AS d WHERE d.id = answer.id AND d.state = 'dead';
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = format(
      'delivery: %L was sent again and died again as %L; send that one', delivery, answer.id);
  END IF;
  RETURN answer.id;
END
$body$;
REVOKE ALL ON FUNCTION "{schema}".requeue(text, text) FROM PUBLIC;
)sql";

constexpr std::string_view audited_requeue_down = R"sql(
DROP FUNCTION "{schema}".requeue(text[], text, text[], text[]);
DROP FUNCTION "{schema}".hub_requeue(text);
DROP FUNCTION "{schema}".hub_audit(text, text, text, text, integer, text, text, text);
DROP FUNCTION "{schema}".hub_audit_text(text);
)sql";

}  // namespace

Migration hub_requeue_step() {
  const auto before = hub_first_requeue();
  static const std::string down = std::string(audited_requeue_down) + "CREATE OR REPLACE " +
                                  std::string(before.substr(before.find("FUNCTION")));
  return {3, "audited requeue", audited_requeue_up, down};
}

}  // namespace sagabox::postgres
