#include "spi/saga_rules.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace sagabox::spi {
namespace {

Error refused_command(std::string_view field, std::string_view problem) {
  return {Code::schema_validation_failed, std::string(field) + ": " + std::string(problem)};
}

Error no_fence(Shard shard) {
  return {Code::config_invalid,
          "shard " + std::to_string(shard.value) +
              " has no fence in this batch; give one for every shard it names"};
}

}  // namespace

Status check_command(const SagaCommand& command) {
  if (command.id.empty()) return refused_command("id", "a command needs an id; give a new one");
  if (command.saga.empty()) return refused_command("saga", "name the saga by its id");
  for (const auto& [field, name] :
       {std::pair<std::string_view, const std::string&>{"definition", command.definition},
        {"tenant", command.tenant}}) {
    if (auto problem = name_problem(name, saga_name_length_max); !problem.empty()) {
      return refused_command(field, problem);
    }
  }
  if (command.body.size() > saga_command_bytes_max) {
    return refused_command("body", std::to_string(command.body.size()) + " bytes, the limit is " +
                                       std::to_string(saga_command_bytes_max));
  }
  if (auto problem = json_problem(command.body); !problem.empty()) {
    return refused_command("body", problem);
  }
  return {};
}

Status check_batch(const SagaBatch& batch) {
  const auto is_fenced = [&](Shard shard) {
    return std::ranges::any_of(batch.fencing.fences,
                               [&](const Fence& fence) { return fence.shard == shard; });
  };
  std::set<SagaId> seen;
  for (const auto& write : batch.writes) {
    const auto& record = write.record;
    if (!is_fenced(record.shard)) return no_fence(record.shard);
    if (record.definition != batch.definition) {
      return Error{Code::config_invalid, "saga " + record.id.str() + " is one of definition " +
                                             quoted(record.definition) + ", the batch of " +
                                             quoted(batch.definition)};
    }
    if (!seen.insert(record.id).second) {
      return Error{Code::config_invalid, "saga " + record.id.str() + " is in the batch twice"};
    }
    if (record.version == 0) {
      return Error{Code::tx_invalid_state,
                   "saga " + record.id.str() + " has version 0; a new one has 1"};
    }
  }
  for (const auto& taken : batch.taken) {
    if (!is_fenced(taken.shard)) return no_fence(taken.shard);
  }
  return {};
}

}  // namespace sagabox::spi
