#include "stores/sqlite/schema_saga.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

constexpr std::string_view saga_up = R"sql(
-- Definitions as they were registered. The same name and version never gets other content.
CREATE TABLE sagabox_saga_definition (
  name          TEXT    NOT NULL,
  version       INTEGER NOT NULL,
  digest        BLOB    NOT NULL,
  text          TEXT    NOT NULL,
  registered_at INTEGER NOT NULL,
  PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- One row a saga. Written by the owner of its definition alone, never by hand.
CREATE TABLE sagabox_saga (
  id                 TEXT    NOT NULL PRIMARY KEY,
  tenant             TEXT    NOT NULL,
  definition         TEXT    NOT NULL,
  definition_version INTEGER NOT NULL,
  state              TEXT    NOT NULL CHECK (state IN ('running', 'compensating', 'paused',
                                                       'completed', 'cancelled', 'failed')),
  quarantined        INTEGER NOT NULL,
  version            INTEGER NOT NULL,
  due                INTEGER,
  key                TEXT    NOT NULL,
  isolate            TEXT    NOT NULL,
  started_at         INTEGER NOT NULL,
  changed_at         INTEGER NOT NULL,
  ended_at           INTEGER,
  body               TEXT    NOT NULL
) STRICT;
CREATE INDEX sagabox_saga_due ON sagabox_saga (definition, due, id)
  WHERE due IS NOT NULL AND state IN ('running', 'compensating', 'paused');
CREATE UNIQUE INDEX sagabox_saga_isolated ON sagabox_saga (definition, tenant, isolate)
  WHERE isolate <> '' AND state IN ('running', 'compensating', 'paused');
CREATE INDEX sagabox_saga_ended ON sagabox_saga (definition, ended_at)
  WHERE state IN ('completed', 'cancelled');
CREATE INDEX sagabox_saga_active ON sagabox_saga (definition, state, started_at)
  WHERE state IN ('running', 'compensating', 'paused');
CREATE INDEX sagabox_saga_failed ON sagabox_saga (id) WHERE state = 'failed';

-- What happened to each saga, line by line.
CREATE TABLE sagabox_saga_history (
  saga   TEXT    NOT NULL,
  number INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  event  TEXT    NOT NULL,
  step   TEXT    NOT NULL,
  detail TEXT    NOT NULL,
  hash   BLOB    NOT NULL,
  PRIMARY KEY (saga, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE sagabox_saga_label (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  saga  TEXT NOT NULL,
  PRIMARY KEY (name, value, saga)
) STRICT, WITHOUT ROWID;
CREATE INDEX sagabox_saga_label_saga ON sagabox_saga_label (saga);

-- What became of commands.
CREATE TABLE sagabox_saga_command (
  id      TEXT    NOT NULL PRIMARY KEY,
  saga    TEXT    NOT NULL,
  applied INTEGER NOT NULL,
  reason  TEXT    NOT NULL,
  at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sagabox_saga_command_saga ON sagabox_saga_command (saga);
CREATE INDEX sagabox_saga_command_refused ON sagabox_saga_command (at) WHERE NOT applied;

-- Commands to sagas. Anyone inserts them, in their own transactions; the owner of the definition
-- reads and deletes them.
CREATE TABLE sagabox_saga_inbox (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT    NOT NULL DEFAULT (lower(hex(randomblob(16)))) CHECK (length(id) <= 36),
  saga       TEXT    NOT NULL DEFAULT (lower(hex(randomblob(16)))) CHECK (length(saga) <= 36),
  definition TEXT    NOT NULL CHECK (length(definition) BETWEEN 1 AND 255),
  tenant     TEXT    NOT NULL DEFAULT 'default' CHECK (length(tenant) BETWEEN 1 AND 255),
  kind       TEXT    NOT NULL DEFAULT 'start'
                     CHECK (kind IN ('start', 'reply', 'signal', 'approve', 'pause', 'resume',
                                     'cancel', 'compensate', 'set_step', 'replay', 'quarantine',
                                     'release')),
  body       TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(body)),
  written_at INTEGER NOT NULL
             DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))
) STRICT;
CREATE INDEX sagabox_saga_inbox_read ON sagabox_saga_inbox (definition, seq);
)sql";

constexpr std::string_view saga_down = R"sql(
DROP TABLE sagabox_saga_inbox;
DROP TABLE sagabox_saga_command;
DROP TABLE sagabox_saga_label;
DROP TABLE sagabox_saga_history;
DROP TABLE sagabox_saga;
DROP TABLE sagabox_saga_definition;
)sql";

// For metrics: sagas that wait for an operator, are late or dead are counted without reading all of
// them. Sagas that are held already are found by their body; the next write sets both columns.
constexpr std::string_view saga_waits_up = R"sql(
ALTER TABLE sagabox_saga ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE sagabox_saga ADD COLUMN overdue_from INTEGER;
UPDATE sagabox_saga SET person = 'decision'
WHERE state IN ('running', 'compensating', 'paused')
  AND (body LIKE '%"state":"held"%' OR body LIKE '%"state":"undo_held"%');
CREATE INDEX sagabox_saga_person ON sagabox_saga (definition, person)
  WHERE person <> '' AND state IN ('running', 'compensating', 'paused');
CREATE INDEX sagabox_saga_dead ON sagabox_saga (definition)
  WHERE state = 'failed' AND NOT quarantined;
-- To look for those that nothing moves.
CREATE INDEX sagabox_saga_without_due ON sagabox_saga (definition, id)
  WHERE due IS NULL AND state IN ('running', 'compensating');
-- What a saga has not been given yet.
CREATE INDEX sagabox_saga_inbox_saga ON sagabox_saga_inbox (saga);
)sql";

constexpr std::string_view saga_waits_down = R"sql(
DROP INDEX sagabox_saga_inbox_saga;
DROP INDEX sagabox_saga_without_due;
DROP INDEX sagabox_saga_dead;
DROP INDEX sagabox_saga_person;
ALTER TABLE sagabox_saga DROP COLUMN person;
ALTER TABLE sagabox_saga DROP COLUMN overdue_from;
)sql";

constexpr std::array saga_list{Migration{1, "saga", saga_up, saga_down},
                               Migration{2, "saga waits", saga_waits_up, saga_waits_down}};

}  // namespace

std::span<const Migration> saga_steps() noexcept { return saga_list; }

}  // namespace sagabox::sqlite
