#include "stores/postgres/driver/fragments.hpp"

#include "core/text.hpp"

#include <array>

namespace sagabox::postgres {
namespace {

constexpr std::array common{
    // A digest is there where the message was built by us, and checked.
    Fragment{"message",
             "id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json,\n"
             "         content_type, headers, occurred_at, not_before, traceparent, tracestate,\n"
             "         request_id, correlation_id, coalesce(digest, sha256(payload)),\n"
             "         digest IS NULL"},
    // What goes with a message wherever it goes.
    Fragment{
        "carried",
        "id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,\n"
        "    digest, content_type, headers, occurred_at, not_before, traceparent, tracestate,\n"
        "    request_id, correlation_id"},
    // As `sql::decode_record` reads them.
    Fragment{"ended",
             "state, seq, shard, attempts, replays, written_at, NULL::timestamptz, false,\n"
             "       ended_at, code, error, note, history::text, octet_length(payload), {message}"},
};

}  // namespace

Filler::Filler(const Names& names, const TableName& table,
               std::initializer_list<Fragment> fragments)
    : fragments_(fragments), names_(names), table_(table) {
  fragments_.insert(fragments_.end(), common.begin(), common.end());
  // Those that others use come last.
  fragments_.push_back(common[0]);
}

Statement Filler::operator()(std::string_view name, std::string_view sql) const {
  std::string whole(sql);
  for (const auto& fragment : fragments_) {
    whole = replaced(whole, "{" + std::string(fragment.name) + "}", fragment.sql);
  }
  return {names_.statement(name, table_), names_.fill(whole, table_)};
}

}  // namespace sagabox::postgres
