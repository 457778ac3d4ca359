#include "stores/sqlite/schema_hub.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

constexpr std::string_view hub_up = R"sql(
-- What happened. Inserted, never changed.
CREATE TABLE sagabox_hub_event (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT    NOT NULL UNIQUE CHECK (length(id) <= 36),
  tenant         TEXT    NOT NULL,
  source         TEXT    NOT NULL,
  external_id    TEXT    NOT NULL,
  type           TEXT    NOT NULL,
  key            TEXT    NOT NULL,
  is_json        INTEGER NOT NULL,
  digest         BLOB    NOT NULL,
  aggregate_type TEXT    NOT NULL,
  aggregate_id   TEXT    NOT NULL,
  priority       INTEGER NOT NULL,
  content_type   TEXT    NOT NULL,
  headers        TEXT    NOT NULL,
  occurred_at    INTEGER NOT NULL,
  traceparent    TEXT    NOT NULL,
  tracestate     TEXT    NOT NULL,
  request_id     TEXT    NOT NULL,
  correlation_id TEXT    NOT NULL,
  published_at   INTEGER NOT NULL,
  payload        BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX sagabox_hub_event_external
  ON sagabox_hub_event (tenant, source, external_id) WHERE external_id <> '';

-- Up to where events are routed.
CREATE TABLE sagabox_hub_position (
  shard    INTEGER PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT;

-- Who is told of which events. `change` rises with every write, over all of them.
CREATE TABLE sagabox_hub_subscription (
  id           TEXT    NOT NULL PRIMARY KEY CHECK (length(id) <= 36),
  tenant       TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  state        TEXT    NOT NULL
               CHECK (state IN ('unverified', 'active', 'paused', 'disabled')),
  types        TEXT    NOT NULL CHECK (json_valid(types)),
  target       TEXT    NOT NULL,
  settings     TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  active_since INTEGER,
  version      INTEGER NOT NULL,
  change       INTEGER NOT NULL UNIQUE,
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sagabox_hub_secret (
  subscription TEXT    NOT NULL,
  number       INTEGER NOT NULL,
  sealed       TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  PRIMARY KEY (subscription, number)
) STRICT, WITHOUT ROWID;

-- Events on their way to subscriptions. Inserted by the router, changed by the owner alone.
CREATE TABLE sagabox_hub_delivery (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              TEXT    NOT NULL UNIQUE,
  event           TEXT    NOT NULL,
  subscription    TEXT    NOT NULL,
  generation      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  type            TEXT    NOT NULL,
  key             TEXT    NOT NULL,
  state           TEXT    NOT NULL DEFAULT 'pending'
                  CHECK (state IN ('pending', 'waiting', 'in_progress', 'completed', 'dead')),
  attempt         INTEGER NOT NULL DEFAULT 0,
  failures        INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  correlation_id  TEXT    NOT NULL,
  code            TEXT    NOT NULL DEFAULT '',
  error           TEXT    NOT NULL DEFAULT '',
  status          INTEGER NOT NULL DEFAULT 0,
  UNIQUE (event, subscription, generation)
) STRICT;
CREATE INDEX sagabox_hub_delivery_pending
  ON sagabox_hub_delivery (subscription, next_attempt_at, seq) WHERE state = 'pending';
CREATE INDEX sagabox_hub_delivery_in_progress
  ON sagabox_hub_delivery (id) WHERE state = 'in_progress';
CREATE INDEX sagabox_hub_delivery_waiting
  ON sagabox_hub_delivery (subscription, seq) WHERE state = 'waiting';
CREATE INDEX sagabox_hub_delivery_key
  ON sagabox_hub_delivery (subscription, key, seq)
  WHERE key <> '' AND state IN ('pending', 'waiting', 'in_progress');
CREATE UNIQUE INDEX sagabox_hub_delivery_key_in_progress
  ON sagabox_hub_delivery (subscription, key) WHERE key <> '' AND state = 'in_progress';
CREATE INDEX sagabox_hub_delivery_completed
  ON sagabox_hub_delivery (ended_at) WHERE state = 'completed';
CREATE INDEX sagabox_hub_delivery_dead
  ON sagabox_hub_delivery (ended_at) WHERE state = 'dead';
CREATE INDEX sagabox_hub_delivery_of
  ON sagabox_hub_delivery (subscription, seq);

-- What dead deliveries would have brought.
CREATE TABLE sagabox_hub_dead (
  delivery       TEXT    NOT NULL PRIMARY KEY,
  seq            INTEGER NOT NULL,
  id             TEXT    NOT NULL,
  tenant         TEXT    NOT NULL,
  source         TEXT    NOT NULL,
  external_id    TEXT    NOT NULL,
  type           TEXT    NOT NULL,
  key            TEXT    NOT NULL,
  is_json        INTEGER NOT NULL,
  digest         BLOB    NOT NULL,
  aggregate_type TEXT    NOT NULL,
  aggregate_id   TEXT    NOT NULL,
  priority       INTEGER NOT NULL,
  content_type   TEXT    NOT NULL,
  headers        TEXT    NOT NULL,
  occurred_at    INTEGER NOT NULL,
  traceparent    TEXT    NOT NULL,
  tracestate     TEXT    NOT NULL,
  request_id     TEXT    NOT NULL,
  correlation_id TEXT    NOT NULL,
  published_at   INTEGER NOT NULL,
  payload        BLOB    NOT NULL
) STRICT;

-- Attempts of deliveries. Inserted by the owner, changed by workers and the cleaner of leases.
CREATE TABLE sagabox_hub_job (
  delivery     TEXT    NOT NULL,
  attempt      INTEGER NOT NULL,
  subscription TEXT    NOT NULL,
  state        TEXT    NOT NULL DEFAULT 'pending'
               CHECK (state IN ('pending', 'leased', 'completed', 'failed')),
  attempt_at   INTEGER NOT NULL,
  resets       INTEGER NOT NULL DEFAULT 0,
  worker       TEXT    NOT NULL DEFAULT '',
  token        TEXT    NOT NULL DEFAULT '',
  lease_until  INTEGER,
  ended_at     INTEGER,
  seen         INTEGER NOT NULL DEFAULT 0,
  code         TEXT    NOT NULL DEFAULT '',
  error        TEXT    NOT NULL DEFAULT '',
  status       INTEGER NOT NULL DEFAULT 0,
  answer       BLOB    NOT NULL DEFAULT x'',
  retry_after  INTEGER,
  took         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (delivery, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX sagabox_hub_job_pending
  ON sagabox_hub_job (attempt_at, delivery, attempt) WHERE state = 'pending';
CREATE INDEX sagabox_hub_job_leased ON sagabox_hub_job (lease_until) WHERE state = 'leased';
CREATE INDEX sagabox_hub_job_token ON sagabox_hub_job (token) WHERE state = 'leased';
CREATE INDEX sagabox_hub_job_unseen
  ON sagabox_hub_job (ended_at, delivery, attempt) WHERE ended_at IS NOT NULL AND NOT seen;
CREATE INDEX sagabox_hub_job_seen ON sagabox_hub_job (ended_at) WHERE seen;
CREATE INDEX sagabox_hub_job_of
  ON sagabox_hub_job (subscription, ended_at) WHERE ended_at IS NOT NULL;
)sql";

constexpr std::string_view hub_down = R"sql(
DROP TABLE sagabox_hub_job;
DROP TABLE sagabox_hub_dead;
DROP TABLE sagabox_hub_delivery;
DROP TABLE sagabox_hub_secret;
DROP TABLE sagabox_hub_subscription;
DROP TABLE sagabox_hub_position;
DROP TABLE sagabox_hub_event;
)sql";

// Deliveries of a tenant are found by its subscriptions: an index of deliveries by tenant would add
// a fifth to the cost of each.
constexpr std::string_view tenants_up = R"sql(
CREATE INDEX sagabox_hub_subscription_tenant ON sagabox_hub_subscription (tenant, id);
-- The dead stay for as long as nobody removes them: they are listed and counted by themselves.
CREATE INDEX sagabox_hub_delivery_dead_seq ON sagabox_hub_delivery (seq) WHERE state = 'dead';
CREATE INDEX sagabox_hub_delivery_dead_of
  ON sagabox_hub_delivery (subscription, seq) WHERE state = 'dead';
-- The last success and the first failure of an endpoint are found at once.
DROP INDEX sagabox_hub_job_of;
CREATE INDEX sagabox_hub_job_of
  ON sagabox_hub_job (subscription, state, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sagabox_hub_secret_expires
  ON sagabox_hub_secret (expires_at) WHERE expires_at IS NOT NULL;
)sql";

constexpr std::string_view tenants_down = R"sql(
DROP INDEX sagabox_hub_secret_expires;
DROP INDEX sagabox_hub_job_of;
CREATE INDEX sagabox_hub_job_of
  ON sagabox_hub_job (subscription, ended_at) WHERE ended_at IS NOT NULL;
DROP INDEX sagabox_hub_delivery_dead_of;
DROP INDEX sagabox_hub_delivery_dead_seq;
DROP INDEX sagabox_hub_subscription_tenant;
)sql";

constexpr std::array hub_list{Migration{1, "hub", hub_up, hub_down},
                              Migration{2, "tenants", tenants_up, tenants_down}};

}  // namespace

std::span<const Migration> hub_steps() noexcept { return hub_list; }

}  // namespace sagabox::sqlite
