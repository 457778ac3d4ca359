#pragma once

#include <sagabox/saga_admin.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sagabox::cli {

/// The operations of the saga verbs on a store, or on a daemon; see `SagaAdmin`. Calls block.
class SagaOperations {
 public:
  virtual ~SagaOperations() = default;
  virtual Result<SagaPage> list(const SagaQuery& query) = 0;
  virtual Result<std::vector<SagaCounted>> count() = 0;
  virtual Result<std::optional<SagaView>> show(const SagaId& id, Admin::PayloadToo payload) = 0;
  virtual Result<std::optional<SagaHistory>> history(const SagaId& id, std::uint32_t after,
                                                     std::uint32_t entries_max, bool verify) = 0;
  virtual Result<std::optional<SagaExplanation>> explain(const SagaId& id) = 0;
  virtual Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) = 0;

  virtual Result<SagaDefinitionRecord> define(const SagaDefinition& definition) = 0;
  virtual Result<SagaReceipt> start(const SagaStartOrder& order, Duration wait) = 0;
  virtual Result<SagaReceipt> act(const SagaOrder& order, Duration wait) = 0;
  virtual Result<std::uint64_t> purge(std::string_view definition, Duration older_than) = 0;
};

}  // namespace sagabox::cli
