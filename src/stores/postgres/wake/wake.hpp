#pragma once

#include "core/commit_bell.hpp"
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

namespace sagabox::postgres {

/// Wakes readers when something was committed: those of this process at once, and those that sleep
/// by NOTIFY. Without NOTIFY, commits of other processes are found by polling. Thread-safe.
class Wake {
 public:
  /// `flag_interval`: see `Sleep`.
  Wake(sql::Sections& sections, Context& context,
       Duration flag_interval = Sleep::flag_interval_default);

  /// Returns early where the reader should look, see `Sleep`.
  void wait(const TableName& table, Duration timeout);
  void ring(const TableName& table);

  /// The calling thread has read fresh rows: what it could not see, and how many there were.
  void looked(const TableName& table, const spi::Horizon& unseen, std::size_t rows);

 private:
  struct Statements {
    template <class Call>
    void each(Call&& call) {
      call(set_asleep, "wake_set_asleep");
    }
    Statement set_asleep;
  };
  struct Place {
    explicit Place(const Statements& of_table) : statements(of_table) {}
    const Statements& statements;
    CommitBell bell;
    std::mutex mutex;
    std::map<std::thread::id, Sleep> sleeps;  // of threads that wait
    /// Held while the flag is changed for a reason that must still be true then.
    std::mutex flag;
  };

  Place& place(const TableName& table);
  void heard(std::string_view outbox);
  [[nodiscard]] Sleep::Step next_step(Place& at, std::optional<Listener::Session> session);
  void raise_flag(Place& at, const Listener::Session& session);
  void lower_flag(Place& at);
  [[nodiscard]] bool set_flag(Place& at, const Listener::Session& session, bool asleep);

  Context& context_;
  const Clock& clock_;
  const Duration flag_interval_;
  sql::PerTable<Statements> statements_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Place>, std::less<>> places_;
  Listener listener_;  // last: its thread uses the others
};

}  // namespace sagabox::postgres
