#pragma once

#include "cli/remote/daemon_client.hpp"
#include "cli/saga_operations.hpp"

#include <functional>
#include <string>

namespace sagabox::cli {

/// Uses a daemon's REST API; the client must outlive it. `store` returns the name of the store;
/// empty if there is only one.
class ServerSagas final : public SagaOperations {
 public:
  ServerSagas(DaemonClient& daemon, std::function<std::string()> store)
      : daemon_(daemon), store_(std::move(store)) {}

  Result<SagaPage> list(const SagaQuery& query) override;
  Result<std::vector<SagaCounted>> count() override;
  Result<std::optional<SagaView>> show(const SagaId& id, Admin::PayloadToo payload) override;
  Result<std::optional<SagaHistory>> history(const SagaId& id, std::uint32_t after,
                                             std::uint32_t entries_max, bool verify) override;
  Result<std::optional<SagaExplanation>> explain(const SagaId& id) override;
  Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) override;
  Result<SagaDefinitionRecord> define(const SagaDefinition& definition) override;
  Result<SagaReceipt> start(const SagaStartOrder& order, Duration wait) override;
  Result<SagaReceipt> act(const SagaOrder& order, Duration wait) override;
  Result<std::uint64_t> purge(std::string_view definition, Duration older_than) override;

 private:
  [[nodiscard]] requests::Target target(std::string path);

  DaemonClient& daemon_;
  std::function<std::string()> store_;
};

}  // namespace sagabox::cli
