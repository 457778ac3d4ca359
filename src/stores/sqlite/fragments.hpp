#pragma once

#include "stores/sqlite/link.hpp"

#include <sagabox/message.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sqlite {

/// A piece of SQL that several statements have in common: `{name}` stands for it.
struct Fragment {
  std::string_view name;
  std::string_view sql;
};

/// Puts statements together: the name of an outbox, made of letters, digits and _ only, so that
/// nothing of it needs escaping between quotes; fragments that every statement may use, and those
/// given. Where one uses another, it stands before it.
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
