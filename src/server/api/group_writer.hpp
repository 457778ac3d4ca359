#pragma once

#include <sagabox/outbox.hpp>
#include <sagabox/store.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sagabox::server {

/// Returns the current outbox for writes, which a change of settings replaces.
using OutboxSource = std::function<std::shared_ptr<Outbox>()>;
/// Always returns this outbox, which must outlive the source.
inline OutboxSource always(Outbox& outbox) {
  return [&outbox] { return std::shared_ptr<Outbox>(std::shared_ptr<void>(), &outbox); };
}

struct GroupWriterOptions {
  std::uint32_t writers = 2;  ///< concurrent transactions
  std::uint32_t group_rows_max = 500;
  std::size_t group_bytes_max = 4UL * 1024 * 1024;
  std::uint32_t waiting_rows_max = 20'000;
  std::size_t waiting_bytes_max = 64UL * 1024 * 1024;
};

/// Writes the messages of many callers in few transactions: messages that arrive during a commit
/// are part of the next one. The messages of one caller are written all or none. A message that
/// cannot be written fails for its own caller only. Thread-safe; the store must outlive it.
class GroupWriter {
 public:
  using Outcome = Result<std::vector<Written>>;
  /// Called once, on a writer's thread; must not block for long.
  using Done = std::function<void(Outcome)>;

  GroupWriter(Store& store, OutboxSource outbox, GroupWriterOptions options);
  /// Writes the waiting messages.
  ~GroupWriter();
  GroupWriter(const GroupWriter&) = delete;
  GroupWriter& operator=(const GroupWriter&) = delete;

  /// Returns false if too much is waiting already; `done` is not called then.
  bool submit(std::vector<NewMessage> messages, Done done);

 private:
  struct Job {
    std::vector<NewMessage> messages;
    std::size_t bytes = 0;
    Done done;
  };

  void run();
  std::vector<Job> take_group(std::unique_lock<std::mutex>& lock);
  void write(std::vector<Job> group);
  /// Whether the answer must have a place for each message.
  enum class Whole : std::uint8_t { not_needed, needed };
  Outcome write_together(std::vector<NewMessage> messages, Whole whole);

  Store& store_;
  OutboxSource outbox_;
  GroupWriterOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::size_t waiting_rows_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sagabox::server
