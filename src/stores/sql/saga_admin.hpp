#pragma once

#include "stores/sql/session.hpp"

#include <sagabox/spi/saga_store.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::sql {

struct SagaAdminStatements {
  explicit SagaAdminStatements(Sections& sections);

  Statement list;
  Statement list_labelled;
  Statement get;
  Statement labels;
  Statement history;
  Statement count;
  Statement backlog;
  Statement without_due;
  Statement pending;
  Statement purge;
  Statement purge_refused;
};

/// What operators need of sagas, in SQL.
class SagaAdminStore final : public spi::SagaAdminStore {
 public:
  /// `clock`: of a database that has none itself.
  SagaAdminStore(Sections& sections, Sessions& sessions, const Clock* clock)
      : sessions_(sessions), clock_(clock), statements_(sections) {}

  Result<std::vector<SagaRecord>> list(const spi::SagaListRequest& request) override;
  Result<std::optional<SagaRecord>> get(const SagaId& id) override;
  Result<std::vector<SagaHistoryEntry>> history(const SagaId& id, std::uint32_t after,
                                                std::uint32_t rows_max) override;
  Result<std::vector<spi::SagaCount>> count(const std::optional<std::string>& tenant) override;
  Result<spi::SagaBacklog> backlog(std::string_view definition) override;
  Result<std::vector<SagaRecord>> without_due(std::string_view definition, const SagaId& after,
                                              std::uint32_t rows_max) override;
  Result<std::vector<SagaCommand>> pending(const SagaId& id, std::uint32_t rows_max) override;
  Result<std::uint64_t> purge(std::string_view definition, Duration older_than,
                              std::uint32_t rows_max) override;

 private:
  static Status add_labels(Session& session, const Statement& labels,
                           std::vector<SagaRecord>& records);

  Sessions& sessions_;
  const Clock* clock_;
  const SagaAdminStatements statements_;
};

}  // namespace sagabox::sql
