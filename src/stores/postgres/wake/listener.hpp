#pragma once

#include "stores/postgres/driver/connection.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

namespace sagabox::postgres {

/// A connection that hears the NOTIFYs of a schema, with a thread that waits for them: nobody else
/// may be at hand when one comes. Connects again when the connection is lost. Thread-safe.
class Listener {
 public:
  /// A session that listens. Its sleeper number is ours while it lasts.
  struct Session {
    std::uint64_t number = 0;  ///< another one after every reconnect
    std::int32_t sleeper = 0;
  };
  /// Called on the listener's thread with the outbox that was committed to; empty: any may have
  /// been, since nobody listened for a while.
  using Heard = std::function<void(std::string_view outbox)>;

  Listener(sql::Sections& sections, ConnectSettings settings, Heard heard);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Begins when first called.
  void start();
  /// Nothing while there is no session, or as many processes as can have a number have one.
  [[nodiscard]] std::optional<Session> session();

 private:
  void run();
  /// Listens until the connection is lost, or the end.
  void listen(Connection& connection);
  bool hear(Connection& connection);
  /// True when it is time to end.
  bool pause(Duration for_long);

  const sql::Statement listen_;
  const sql::Statement take_sleeper_;
  const ConnectSettings settings_;
  const Heard heard_;
  int end_ = -1;  ///< an eventfd: readable when it is time to end
  std::mutex mutex_;
  std::optional<Session> session_;
  std::uint64_t sessions_ = 0;
  std::thread thread_;
};

}  // namespace sagabox::postgres
