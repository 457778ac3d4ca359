#include "stores/sqlite/fragments.hpp"

#include "core/text.hpp"
#include "stores/sqlite/places.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

static_assert(waiting_from == 0 && high_from == 35184372088832 && low_from == 70368744177664 &&
              normal_from == 105553116266496);

constexpr std::array common{
    // What the trigger of the view does with a new message. Schema steps contain it: never change
    // it.
    Fragment{"enqueue", R"sql(BEGIN
  SELECT RAISE(ABORT, 'sagabox: topic and payload must be given')
  WHERE NEW.topic IS NULL OR NEW.payload IS NULL;
  SELECT RAISE(ABORT, 'sagabox: an id has 1 to 36 characters')
  WHERE length(NEW.id) NOT BETWEEN 1 AND 36;
  INSERT INTO "{table}_pending" (
    place, id, due, written_at, tenant, topic, aggregate_type, aggregate_id, key, priority,
    is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, payload)
  SELECT (SELECT 1 + {last} FROM sagabox_outbox WHERE name = '{table}') +
         CASE WHEN NEW.not_before > now.at THEN 0
              WHEN nullif(NEW.key, '') IS NOT NULL OR coalesce(NEW.priority, 1) = 1
                THEN 105553116266496
              WHEN NEW.priority = 0 THEN 35184372088832
              ELSE 70368744177664 END,
         coalesce(NEW.id, lower(hex(randomblob(16)))),
         CASE WHEN NEW.not_before > now.at THEN NEW.not_before END,
         now.at,
         coalesce(NEW.tenant, 'default'),
         NEW.topic,
         coalesce(NEW.aggregate_type, '__GLOBAL__'),
         NEW.aggregate_id,
         nullif(NEW.key, ''),
         coalesce(NEW.priority, 1),
         coalesce(NEW.is_json, 1),
         coalesce(NEW.content_type, CASE WHEN coalesce(NEW.is_json, 1) THEN 'application/json'
                                         ELSE 'application/octet-stream' END),
         NEW.headers,
         coalesce(NEW.occurred_at, now.at),
         NEW.not_before,
         NEW.traceparent, NEW.tracestate, NEW.request_id, NEW.correlation_id,
         CAST(NEW.payload AS BLOB)
  FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS at) AS now;
  UPDATE sagabox_outbox
  SET seq = max(seq, last_insert_rowid() & 35184372088831),
      waiting = waiting + (last_insert_rowid() < 35184372088832)
  WHERE name = '{table}' AND changes() = 1 AND last_insert_rowid() < 105553116266496;
END;)sql"},
    // The last sequence that was assigned, from the row of the outbox: the last of the normal lane,
    // or the last outside of it.
    Fragment{"last", R"sql(max(seq, coalesce((SELECT place FROM "{table}_pending"
              WHERE place >= 105553116266496 ORDER BY place DESC LIMIT 1) - 105553116266496, 0)))sql"},
};

}  // namespace

Filler::Filler(const TableName& table, std::initializer_list<Fragment> fragments)
    : fragments_(fragments), table_(table.str()) {
  fragments_.insert(fragments_.end(), common.begin(), common.end());
}

std::string Filler::text(std::string_view sql) const {
  std::string whole(sql);
  for (const auto& fragment : fragments_) {
    whole = replaced(whole, "{" + std::string(fragment.name) + "}", fragment.sql);
  }
  return replaced(whole, "{table}", table_);
}

}  // namespace sagabox::sqlite
