#pragma once

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <string>
#include <string_view>

namespace sagabox::postgres {

/// Fills names into SQL: `"{schema}"."{table}_outbox"`, and `'{scope}'`, the scope of that outbox's
/// owners. Names consist of letters, digits, _ and : only, so they need no escaping between quotes.
class Names {
 public:
  /// Error CONFIG.INVALID unless `schema` follows the rules for the name of an outbox.
  static Result<Names> parse(std::string_view schema);

  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
  /// The name of a prepared statement. The server cuts names after 63 characters.
  [[nodiscard]] std::string statement(std::string_view what, const TableName& table) const;
  [[nodiscard]] std::string fill(std::string_view sql) const;
  [[nodiscard]] std::string fill(std::string_view sql, const TableName& table) const;

 private:
  explicit Names(std::string schema) : schema_(std::move(schema)) {}
  std::string schema_;
};

}  // namespace sagabox::postgres
