#pragma once

#include <span>
#include <string_view>

namespace sagabox::postgres {

/// One step of the schema: what all outboxes share, and what each of them has. Whole SQL;
/// {schema}, {table}, {shards} and {shard_of} are filled in. `down` takes back what `up` made.
struct Migration {
  int number = 0;
  std::string_view name;
  std::string_view up;
  std::string_view down;
  std::string_view table_up;
  std::string_view table_down;
};

/// Ascending from 1, without a gap. One that has been released is never changed.
std::span<const Migration> migrations();

}  // namespace sagabox::postgres
