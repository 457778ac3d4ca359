#pragma once

#include "stores/postgres/link.hpp"
#include "stores/postgres/names.hpp"

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
/// than $1, so that many rows never exceed what a read may hold; of the others comes the size, and
/// `payloads` fetches them.
inline constexpr Fragment row_fragment{"row", R"sql(
seq, shard, attempts, replays, written_at, due, {message_as_is},
         CASE WHEN octet_length(payload) > $1 THEN octet_length(payload) END,
         CASE WHEN octet_length(payload) <= $1 THEN payload END)sql"};

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
