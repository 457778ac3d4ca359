#pragma once

#include "stores/postgres/driver/connection.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

namespace sagabox::postgres {

/// A connection that receives the NOTIFYs of a schema, with a thread that waits for them, because
/// no caller may be waiting when one arrives. Reconnects when the connection is lost. Thread-safe.
class Listener {
 public:
  /// A session that listens. Its sleeper number is reserved while it lasts.
  struct Session {
    std::uint64_t number = 0;  ///< changes with every reconnect
    std::int32_t sleeper = 0;
  };
  /// Called on the listener's thread with the outbox of the commit. An empty name means any outbox:
  /// NOTIFYs may have been missed.
  using Heard = std::function<void(std::string_view outbox)>;

  Listener(sql::Sections& sections, ConnectSettings settings, Heard heard);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Starts the thread when first called.
  void start();
  /// Returns nullopt while there is no session, or if all sleeper numbers are taken.
  [[nodiscard]] std::optional<Session> session();

 private:
  void run();
  /// Listens until the connection is lost, or the listener stops.
  void listen(Connection& connection);
  bool hear(Connection& connection);
  /// Returns true when it is time to stop.
  bool pause(Duration for_long);

  const sql::Statement listen_;
  const sql::Statement take_sleeper_;
  const ConnectSettings settings_;
  const Heard seen_;
  int end_ = -1;  ///< an eventfd: readable when it is time to stop
  std::mutex mutex_;
  std::optional<Session> session_;
  std::uint64_t sessions_ = 0;
  std::thread thread_;
};

}  // namespace sagabox::postgres
