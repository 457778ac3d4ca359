#pragma once

#include "stores/sqlite/link.hpp"

#include <sagabox/message.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sqlite {

/// A piece of SQL that several statements share; `{name}` stands for it.
struct Fragment {
  std::string_view name;
  std::string_view sql;
};

/// Fills names into statements: the name of an outbox, made of letters, digits and _ only, so that
/// it needs no escaping between quotes; the common fragments, and those given. A fragment that uses
/// another one precedes it.
class Filler {
 public:
  explicit Filler(const TableName& table, std::initializer_list<Fragment> fragments = {});

  [[nodiscard]] std::string text(std::string_view sql) const;
  Sql operator()(std::string_view sql) const { return {text(sql)}; }

 private:
  std::vector<Fragment> fragments_;
  std::string table_;
};

}  // namespace sagabox::sqlite
