#pragma once

#include "cli/verbs/verbs.hpp"

#include <sagabox/saga_admin.hpp>

#include <optional>
#include <string>
#include <vector>

/// The arguments and functions of the saga verbs; see verbs.hpp.
namespace sagabox::cli {

struct SagaDefineArguments : OperatorArguments {
  std::vector<std::string> files{};
  bool dry_run = false;
};
int run_saga_define(const SagaDefineArguments& arguments);

struct SagaDefinitionsArguments : OperatorArguments {
  std::string name{};
};
int run_saga_definitions(const SagaDefinitionsArguments& arguments);

struct SagaStartArguments : OperatorArguments {
  SagaStartOrder order{};
  std::string input{};       ///< JSON; "-": standard input
  std::string input_file{};  ///< JSON
  Duration wait = SagaAdmin::answer_wait;
};
int run_saga_start(const SagaStartArguments& arguments);

struct SagaListArguments : OperatorArguments {
  SagaQuery query{.rows_max = 20};
  std::optional<When> since{};
  std::optional<When> until{};
  bool quarantined = false;
};
int run_saga_list(const SagaListArguments& arguments);
int run_saga_count(const SagaListArguments& arguments);

struct SagaShowArguments : OperatorArguments {
  SagaId id{};
  bool payload = false;
  bool watch = false;
  Duration every = std::chrono::milliseconds(500);
};
int run_saga_show(const SagaShowArguments& arguments);
int run_saga_explain(const SagaShowArguments& arguments);

struct SagaHistoryArguments : OperatorArguments {
  SagaId id{};
  std::uint32_t after = 0;
  std::uint32_t entries_max = 100;
  bool verify = false;
};
int run_saga_history(const SagaHistoryArguments& arguments);

struct SagaActArguments : OperatorArguments {
  ActArguments act{};
  bool destroys = false;  ///< must be confirmed
  SagaOrder order{};
  std::string payload{};  ///< of a signal: JSON; "-": standard input
  Duration wait = SagaAdmin::answer_wait;
};
int run_saga_act(const SagaActArguments& arguments);

struct SagaPurgeArguments : OperatorArguments {
  ActArguments act{};
  std::string definition{};
  std::optional<Duration> older_than{};
};
int run_saga_purge(const SagaPurgeArguments& arguments);

/// These run `dead … --kind saga`.
int run_dead_sagas(const ListArguments& arguments);
int run_replay_sagas(const MoveArguments& arguments);
int run_quarantine_sagas(const MoveArguments& arguments);
int run_release_sagas(const MoveArguments& arguments);

}  // namespace sagabox::cli
