#pragma once

#include "stores/postgres/driver/link.hpp"
#include "stores/postgres/driver/names.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace sagabox::postgres {

/// A piece of SQL that several statements have in common: `{name}` stands for it.
struct Fragment {
  std::string_view name;
  std::string_view sql;
};

/// The columns of a row as `decode_row` reads them. The payload comes along while it is no larger
/// than $1. What most messages leave at its default comes as one value, and only where a message
/// does not: of 28 columns one by one, the server took 2.1 µs and libpq 1.5 µs a row.
inline constexpr Fragment row_fragment{"row", R"sql(
seq, id, topic, key, CASE WHEN octet_length(payload) <= $1 THEN payload END, digest, occurred_at,
         written_at,
         CASE WHEN octet_length(payload) <= $1 AND attempts = 0 AND replays = 0 AND due IS NULL
                AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND aggregate_id IS NULL
                AND priority = 1 AND is_json AND content_type = 'application/json'
                AND headers IS NULL AND not_before IS NULL AND traceparent IS NULL
                AND tracestate IS NULL AND request_id IS NULL AND correlation_id IS NULL
              THEN NULL
              ELSE ROW(octet_length(payload), attempts, replays, due, tenant, aggregate_type,
                       aggregate_id, priority::smallint, is_json, content_type, headers, not_before,
                       traceparent, tracestate, request_id, correlation_id,
                       coalesce(targets_done, 0), retrying) END)sql"};

/// The transactions that have locked or changed a row of ownership: settles, and workers that take
/// or leave a shard. They bring no message that a read could miss, so reads do not wait for them. A
/// row keeps the number of the last one after its end, when nobody waits for it any more. Nobody
/// locks these rows in a way that two may share: a number is always that of one transaction. Only
/// rows of this outbox: a replay writes messages while it holds a shard of its own.
inline constexpr Fragment holders_fragment{"holders",
                                           R"sql((SELECT string_agg(DISTINCT owner.xmax::text, ',')
   FROM "{schema}".shard_owner AS owner
   WHERE owner.scope = 'outbox:{table}' AND owner.xmax <> '0'::xid))sql"};

/// How many shards there are now, as text. A reshard beside a running relay gives its shards other
/// keys: who goes on reading them as before would deliver the later messages of a key first.
inline constexpr Fragment shards_fragment{
    "shards",
    R"sql((SELECT o.shards::text FROM "{schema}".outbox AS o WHERE o.name = '{table}'))sql"};

/// Puts the statements of one outbox together: names, fragments that every statement may use, and
/// those given.
class Filler {
 public:
  Filler(const Names& names, const TableName& table, std::initializer_list<Fragment> fragments);

  /// `name` is unique among the statements of one outbox.
  Statement operator()(std::string_view name, std::string_view sql) const;

 private:
  std::vector<Fragment> fragments_;
  Names names_;
  TableName table_;
};

}  // namespace sagabox::postgres
