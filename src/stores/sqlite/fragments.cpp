#include "stores/sqlite/fragments.hpp"

#include "core/text.hpp"
#include "stores/sqlite/places.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

static_assert(waiting_from == 0 && high_from == 35184372088832 && low_from == 70368744177664 &&
              normal_from == 105553116266496);

constexpr std::array common{
    // As `decode_record` reads them.
    Fragment{"pending",
             "'pending', seq, attempts, replays, written_at, due, retrying, NULL, code, error,\n"
             "       NULL, history, length(payload), {message}"},
    Fragment{"ended",
             "state, seq, attempts, replays, written_at, NULL, 0, ended_at, code, error,\n"
             "       note, history, length(payload), {message}"},
    Fragment{"done",
             "'done', seq, attempts, replays, written_at, NULL, 0, ended_at, code, error,\n"
             "       NULL, history, length(payload), {message}"},
    // As `decode_message` reads them. A digest is there where the message was built by us: it was
    // checked then.
    Fragment{"message",
             "id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json,\n"
             "       content_type, headers, occurred_at, not_before, traceparent, tracestate,\n"
             "       request_id, correlation_id, digest"},
    // What goes with a message wherever it goes.
    Fragment{"carried",
             "id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest,\n"
             "  content_type, headers, occurred_at, not_before, traceparent, tracestate,\n"
             "  request_id, correlation_id, payload"},
    // The last sequence that was given out, of the row of the outbox: the last of the normal lane,
    // or of what is not in it.
    Fragment{"last", R"sql(max(seq, coalesce((SELECT place FROM "{table}_pending"
              WHERE place >= 105553116266496 ORDER BY place DESC LIMIT 1) - 105553116266496, 0)))sql"},
    // Where a fresh row goes.
    Fragment{"lane",
             "CASE WHEN key IS NOT NULL OR priority = 1 THEN 105553116266496\n"
             "       WHEN priority = 0 THEN 35184372088832 ELSE 70368744177664 END"},
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
