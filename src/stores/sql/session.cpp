#include "stores/sql/session.hpp"

namespace sagabox::sql {

Result<Rows> Session::run(const Statement& statement, Values values) {
  const Call call{&statement, std::move(values)};
  auto answers = run(std::span(&call, 1));
  if (!answers.ok()) return answers.error();
  return std::move(answers->front());
}

Result<bool> has_rows(Sessions& sessions, const Statement& statement) {
  auto session = sessions.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(statement);
  if (!rows.ok()) return rows.error();
  return !rows->empty();
}

}  // namespace sagabox::sql
