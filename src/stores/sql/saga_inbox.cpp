#include "stores/sql/saga_inbox.hpp"

#include "spi/saga_rules.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sagabox::sql {

SagaInboxStatements::SagaInboxStatements(Sections& sections)
    : append(sections.take("saga_append")) {}

Status TransactionSagas::append(std::span<const SagaCommand> commands) {
  for (const auto& command : commands) {
    if (auto valid = spi::check_command(command); !valid.ok()) return valid;
  }
  auto session = open_();
  if (!session.ok()) return session.error();
  if (commands.empty()) return {};
  std::vector<std::string> ids, sagas, definitions, tenants, kinds, bodies;
  for (const auto& command : commands) {
    ids.push_back(command.id.str());
    sagas.push_back(command.saga.str());
    definitions.push_back(command.definition);
    tenants.push_back(command.tenant);
    kinds.emplace_back(saga_command_name(command.kind));
    bodies.push_back(command.body);
  }
  const auto now = clock_ == nullptr ? std::nullopt : std::optional(clock_->wall_now());
  auto done =
      (*session)->run(statements_->append,
                      {std::move(ids), std::move(sagas), std::move(definitions), std::move(tenants),
                       std::move(kinds), std::move(bodies), now, by_element(commands.size())});
  if (!done.ok()) return done.error();
  if (appended_) {
    for (const auto& command : commands) appended_(command.definition);
  }
  return {};
}

}  // namespace sagabox::sql
