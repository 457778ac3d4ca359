#include "stores/sqlite/schema_requests.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

constexpr std::string_view idempotency_up = R"sql(
-- Which requests are under way or done.
CREATE TABLE sagabox_idempotency (
  tenant        TEXT    NOT NULL,
  consumer      TEXT    NOT NULL,
  key           TEXT    NOT NULL,
  request_hash  BLOB    NOT NULL,
  state         TEXT    NOT NULL DEFAULT 'in_flight'
                        CHECK (state IN ('in_flight', 'succeeded', 'failed', 'released')),
  ticket        INTEGER NOT NULL,
  attempts      INTEGER NOT NULL DEFAULT 1,
  created_at    INTEGER NOT NULL,
  changed_at    INTEGER NOT NULL,
  lease_until   INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  result        BLOB,
  result_digest BLOB,
  code          TEXT,
  error         TEXT,
  PRIMARY KEY (tenant, consumer, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX sagabox_idempotency_expires ON sagabox_idempotency (expires_at);
)sql";

constexpr std::string_view idempotency_down = R"sql(
DROP TABLE sagabox_idempotency;
)sql";

constexpr std::string_view inbox_up = R"sql(
-- What consumers have done. Written in their own transactions, never changed.
CREATE TABLE sagabox_inbox (
  tenant   TEXT    NOT NULL DEFAULT 'default' CHECK (length(tenant) BETWEEN 1 AND 255),
  consumer TEXT    NOT NULL CHECK (length(consumer) BETWEEN 1 AND 255),
  key      TEXT    NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  taken_at INTEGER NOT NULL
           DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  PRIMARY KEY (tenant, consumer, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX sagabox_inbox_taken_at ON sagabox_inbox (taken_at);

-- Which steps of sagas have run here: 'acted', 'undone' after that, or 'refused' when the
-- compensation came first. `state_before` is the state that the last call found.
CREATE TABLE sagabox_barrier (
  tenant       TEXT    NOT NULL DEFAULT 'default',
  saga         TEXT    NOT NULL,
  step         TEXT    NOT NULL,
  round        INTEGER NOT NULL DEFAULT 0,
  state        TEXT    NOT NULL CHECK (state IN ('acted', 'undone', 'refused')),
  state_before TEXT,
  keep_until   INTEGER NOT NULL,
  PRIMARY KEY (tenant, saga, step, round)
) STRICT, WITHOUT ROWID;
CREATE INDEX sagabox_barrier_keep_until ON sagabox_barrier (keep_until);
)sql";

constexpr std::string_view inbox_down = R"sql(
DROP TABLE sagabox_barrier;
DROP TABLE sagabox_inbox;
)sql";

constexpr std::array idempotency_list{
    Migration{1, "idempotency", idempotency_up, idempotency_down}};
constexpr std::array inbox_list{Migration{1, "inbox", inbox_up, inbox_down}};

}  // namespace

std::span<const Migration> idempotency_steps() noexcept { return idempotency_list; }
std::span<const Migration> inbox_steps() noexcept { return inbox_list; }

}  // namespace sagabox::sqlite
