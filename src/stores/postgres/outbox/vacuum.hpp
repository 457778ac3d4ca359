#pragma once

#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/driver/names.hpp"
#include "stores/postgres/outbox/vacuum_need.hpp"

#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace sagabox::postgres {

/// Vacuums outboxes that are emptied faster than autovacuum can follow: it runs once a minute, and
/// the rows settled in a minute of full load do not fit into the server's memory. It runs on a
/// thread of its own, over a connection that is open only meanwhile. Like autovacuum it yields to
/// sessions that wait for the table. One table at a time. See decisions 024 and 029. Thread-safe.
class Vacuum {
 public:
  struct Limits {
    std::uint64_t rows_min = 0;  ///< rows left since the last vacuum; 0: never
    Duration interval_min = std::chrono::seconds(5);
  };

  Vacuum(const Names& names, const ConnectSettings& settings, const Limits& limits);
  /// Does not wait for a running vacuum: the server ends it (before PostgreSQL 14, it runs to its
  /// end).
  ~Vacuum();
  Vacuum(const Vacuum&) = delete;
  Vacuum& operator=(const Vacuum&) = delete;

  /// Adds `rows` that left the outbox or were updated.
  void left(const TableName& outbox, std::uint64_t rows);

 private:
  enum class Outcome { done, failed, not_ours };
  struct Attempt {
    Outcome outcome;
    Duration rest{};
    std::optional<RowCounts> seen;
  };
  struct Work {
    std::uint64_t rows = 0;
    Duration rest;     ///< after the last vacuum
    BootTime ended{};  ///< when the last vacuum ended
    std::optional<RowCounts> seen;
    BootTime enough_since{};
    BootTime not_before{};
    bool ours = true;
  };
  using Works = std::map<TableName, Work>;

  void run();
  /// The work that is due first, now or later.
  [[nodiscard]] Works::iterator next();
  /// Also done if it is not worth it, or another process did it within `rest` or is about to.
  Attempt vacuum(const TableName& outbox, Duration rest, const std::optional<RowCounts>& before);
  /// Returns whether it succeeded. Otherwise it ends with its connection, without a wait.
  bool await_end(PGconn* connection, const TableName& outbox);
  /// Asks over a connection that is opened once; returns nullopt if there is no answer.
  std::optional<bool> is_waited_for(std::unique_ptr<Connection>& beside, int process,
                                    const TableName& outbox);
  [[nodiscard]] bool ending();

  const Names names_;
  const ConnectSettings settings_;
  const Limits limits_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Works works_;
  bool ending_ = false;
  std::thread thread_;  ///< started when there is work
};

}  // namespace sagabox::postgres
