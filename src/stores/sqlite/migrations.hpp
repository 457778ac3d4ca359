#pragma once

#include "stores/sqlite/writer.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sqlite {

/// Makes and takes back the tables of a file. Every change is one transaction, so that two may run
/// at once.
class Migrations {
 public:
  Migrations(Writer& writer, const Clock& clock) : writer_(writer), clock_(clock) {}

  /// What is shared, and this outbox. `reader` looks first: nothing is locked when all is there.
  Status prepare(Connection& reader, const TableName& table);
  Status up();
  Status down(const DownRequest& request);
  static Result<std::vector<MigrationStatus>> status(Connection& reader);
  /// The outboxes of the file; none where nothing was made yet.
  static Result<std::vector<TableName>> tables(Connection& reader);

 private:
  struct Applied {
    int number = 0;
    std::string outbox;
    WallTime at{};
  };

  static Result<bool> is_begun(Connection& connection);
  static Result<bool> is_ready(Connection& connection, const TableName& table);
  static Result<std::vector<Applied>> applied(Connection& connection);
  static Result<std::vector<TableName>> outboxes(Connection& connection);
  static Status check_delivered(Connection& connection, const TableName& table);
  Status change(const std::optional<TableName>& wanted);
  Status apply(Connection& connection, int number, std::string_view name, const std::string& outbox,
               const std::string& sql) const;
  static Status take_back(Connection& connection, const Applied& step);

  Writer& writer_;
  const Clock& clock_;
};

}  // namespace sagabox::sqlite
