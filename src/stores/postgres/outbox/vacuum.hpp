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

/// Vacuums outboxes that are emptied faster than autovacuum keeps up with: it looks once a minute,
/// and what is settled in a minute of full load does not fit into the server's memory. On a thread
/// of its own, over a connection that is open for so long only. Like autovacuum's it makes way for
/// whoever waits for the table. One at a time. See decisions 024 and 029. Thread-safe.
class Vacuum {
 public:
  struct Limits {
    std::uint64_t rows_min = 0;  ///< that left since the last time; 0: never
    Duration interval_min = std::chrono::seconds(5);
  };

  Vacuum(const Names& names, const ConnectSettings& settings, const Limits& limits);
  /// Does not wait for a vacuum that runs: the server ends it, before PostgreSQL 14 when it is
  /// done.
  ~Vacuum();
  Vacuum(const Vacuum&) = delete;
  Vacuum& operator=(const Vacuum&) = delete;

  /// So many rows left the outbox, or were written anew.
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
    Duration rest;     ///< after the last time
    BootTime ended{};  ///< the last time
    std::optional<RowCounts> seen;
    BootTime enough_since{};
    BootTime not_before{};
    bool ours = true;
  };
  using Works = std::map<TableName, Work>;

  void run();
  /// What is due first, now or later.
  [[nodiscard]] Works::iterator next();
  /// Also done where it is not worth it, or somebody else did it within `rest` or is about to.
  Attempt vacuum(const TableName& outbox, Duration rest, const std::optional<RowCounts>& before);
  /// Whether it came to a good end. Otherwise it ends with its connection: nobody waits for it.
  bool await_end(PGconn* connection, const TableName& outbox);
  /// Asked over a connection that is opened once; nothing where nobody answers.
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
  std::thread thread_;  ///< from when there is something to do
};

}  // namespace sagabox::postgres
