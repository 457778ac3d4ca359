#include "stores/sql/session.hpp"

namespace sagabox::sql {

Result<Rows> Session::run(const Statement& statement, Values values) {
  const Call call{&statement, std::move(values)};
  auto answers = run(std::span(&call, 1));
  if (!answers.ok()) return answers.error();
  return std::move(answers->front());
}

}  // namespace sagabox::sql
