#pragma once

#include "outbox/relay.hpp"
#include "runtime/registration.hpp"
#include "runtime/stage_watch.hpp"
#include "runtime/wakeup.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace sagabox::outbox {

/// The threads of a relay: one reads, one settles, one watches deadlines, the others run handlers.
class Threads {
 public:
  Threads(spi::OutboxStore& store, const TableName& table, const OutboxOptions& options,
          Relay& relay);
  /// Waits for handlers that still run.
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// The stages that may hang in a call of the store.
  [[nodiscard]] std::vector<const runtime::StageWatch*> stages() const {
    return {&reads_, &settles_};
  }
  void start();
  /// Drains up to the limit and releases the shards. Returns an error if handlers still run at the
  /// limit: the next owner of the shard delivers their messages again.
  Status stop(runtime::Registration& registration);

 private:
  void read();
  void settle();
  void watch();
  void handle(Runner& runner, std::uint32_t spare);
  /// Pauses this thread until the others are too slow, or until there is no work.
  void stand_by();
  void call_in_spares();
  [[nodiscard]] bool ending() const noexcept { return ending_.load(std::memory_order_relaxed); }

  spi::OutboxStore& store_;
  const TableName& table_;
  const OutboxOptions& options_;
  Relay& relay_;
  runtime::StageWatch reads_;
  runtime::StageWatch settles_;
  std::atomic<bool> ending_{false};
  runtime::Wakeup wakeup_;
  std::vector<std::thread> stages_;
  std::vector<std::thread> handlers_;
  std::atomic<std::uint32_t> standing_by_{0};
  std::atomic<bool> somebody_looks_{false};  ///< one thread at a time polls for work
  struct Spare {
    std::thread thread;
    std::atomic<bool> running{false};
  };
  std::vector<Spare> spares_;  // `Spare::thread` is used by the watching thread only
};

}  // namespace sagabox::outbox
