#pragma once

#include "bench/baselines/postgres/link.hpp"
#include "bench/postgres/cpu.hpp"
#include "bench/workload.hpp"
#include "support/postgres_server.hpp"

#include <sagabox/stores/postgres.hpp>

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

namespace sagabox::bench::postgres {

/// A PostgreSQL of this run's own with the server's defaults, and the outbox `default` on it, made
/// by the library. Throws where there is no server.
class World {
 public:
  World();

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::unique_ptr<Store> open() const;

  /// An empty outbox and a server at rest.
  void clear();
  /// The same, with so many rows as `Outbox::write_all` writes them.
  void fill(std::int64_t rows);
  /// Vacuumed, analysed, and written to disk: nothing of before is left to be done meanwhile.
  void rest();
  /// Commits so many rows at once.
  void add(std::int64_t rows);

  /// Counted from the tables; throws when it is something else.
  void require(std::int64_t pending, std::int64_t archived,
               const std::string& outbox = OutboxOptions{}.table);
  [[nodiscard]] CpuTime cpu() const;
  [[nodiscard]] bool has_function(const std::string& name);
  std::string sql(const std::string& text) { return admin_->sql(text); }
  [[nodiscard]] std::string server_version() { return sql("SHOW server_version"); }

 private:
  const testing::PostgresServer server_ = testing::PostgresServer::start(getpid());
  std::string url_;
  std::unique_ptr<by_hand::Link> admin_;
  std::int64_t written_ = 0;
};

/// Started when first asked for; ends with the process.
World& world();

}  // namespace sagabox::bench::postgres
