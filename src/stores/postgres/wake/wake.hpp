#pragma once

#include "core/commit_signal.hpp"
#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/wake/listener.hpp"
#include "stores/postgres/wake/sleep.hpp"

#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace sagabox::postgres {

/// A source that readers wait for: rows of an outbox, commands of sagas …
struct WatchedFeed {
  /// The payload of its NOTIFYs: the name of an outbox, or another name.
  std::string name;
  /// The sequence that records the sleepers, see schema_wake.cpp. Feeds in one table may share it:
  /// a NOTIFY is sent for each feed that is committed to while a reader of any of them sleeps.
  std::string flags;

  static WatchedFeed outbox(const TableName& table) {
    return {table.str(), table.str() + "_flags"};
  }
};

/// Wakes readers after a commit: those of this process at once, and sleeping ones by NOTIFY. One
/// connection listens for all feeds of a store. Without NOTIFY, commits of other processes are
/// found by polling. Thread-safe.
class Wake {
 public:
  /// `flag_interval`: see `Sleep`.
  Wake(sql::Sections& sections, Context& context,
       Duration flag_interval = Sleep::flag_interval_default);

  /// Returns early if the reader should look, see `Sleep`.
  void wait(const WatchedFeed& feed, Duration timeout);
  void notify(const WatchedFeed& feed);

  /// The calling thread has read fresh rows; `unseen` is what it could not see.
  void looked(const WatchedFeed& feed, const spi::Horizon& unseen, std::size_t rows);

  /// The flag of the calling thread is up, and transactions that did not see it may be open.
  [[nodiscard]] bool is_falling_asleep(const WatchedFeed& feed);

  void wait(const TableName& table, Duration timeout) { wait(WatchedFeed::outbox(table), timeout); }
  void notify(const TableName& table) { notify(WatchedFeed::outbox(table)); }
  void looked(const TableName& table, const spi::Horizon& unseen, std::size_t rows) {
    looked(WatchedFeed::outbox(table), unseen, rows);
  }

 private:
  struct Place;
  /// The threads of this process that use one flag sequence.
  struct Flags {
    using Sleeper = std::pair<const Place*, std::thread::id>;
    explicit Flags(std::string of_sequence) : sequence(std::move(of_sequence)) {}
    const std::string sequence;
    std::mutex mutex;
    /// A thread may wait for several feeds in turn.
    std::map<Sleeper, Sleep> sleeps;
    /// Held while the flag is changed, so that the reason for the change still holds.
    std::mutex change;
  };
  struct Place {
    explicit Place(Flags& its_flags) : flags(its_flags) {}
    Flags& flags;
    CommitSignal signal;
  };

  Place& place(const WatchedFeed& feed);
  void heard(std::string_view feed);
  [[nodiscard]] static Flags::Sleeper sleeper(const Place& at);
  [[nodiscard]] Sleep::Step next_step(Place& at, std::optional<Listener::Session> session);
  void raise_flag(Place& at, const Listener::Session& session);
  void lower_flag(Flags& flags);
  [[nodiscard]] bool set_flag(const Flags& flags, const Listener::Session& session, bool asleep);

  Context& context_;
  const Clock& clock_;
  const Duration flag_interval_;
  const sql::Statement set_asleep_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Flags>, std::less<>> flags_;
  std::map<std::string, std::unique_ptr<Place>, std::less<>> places_;
  Listener listener_;  // last member: its thread uses the others
};

}  // namespace sagabox::postgres
