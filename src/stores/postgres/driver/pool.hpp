#pragma once

#include "stores/postgres/driver/connection.hpp"

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// A few connections to one server, made when needed and kept. Thread-safe. Uses that must not wait
/// for others (leases, LISTEN) have pools of their own.
class Pool {
 public:
  struct Limits {
    std::uint32_t connections_max = 8;
    /// How long `take` waits for a connection that is in use.
    Duration wait_max = std::chrono::seconds(5);
    /// After a failed connect, the pool waits for this long before the next attempt, doubled up to
    /// the maximum.
    Duration backoff_min = std::chrono::milliseconds(50);
    Duration backoff_max = std::chrono::seconds(1);
  };

  /// A connection in use; its destructor returns it to the pool, or closes it if it cannot be
  /// reused.
  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() { release(); }
    Connection& operator*() const noexcept { return *connection_; }
    Connection* operator->() const noexcept { return connection_.get(); }
    void release() noexcept;

   private:
    friend class Pool;
    Lease(Pool* pool, std::unique_ptr<Connection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  /// `purpose` names the pool in error texts.
  Pool(ConnectSettings settings, Limits limits, std::string purpose);

  /// STORAGE.UNAVAILABLE when none becomes free in time, or the server cannot be reached.
  Result<Lease> take();

  /// How many connections could be taken now without waiting.
  [[nodiscard]] std::uint32_t to_be_had();

  [[nodiscard]] const ConnectSettings& settings() const noexcept { return settings_; }

 private:
  Result<Lease> connect();
  void recycle(std::unique_ptr<Connection> connection) noexcept;

  const ConnectSettings settings_;
  const Limits limits_;
  const std::string purpose_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_;  // the one used last is taken first
  std::uint32_t open_ = 0;                         // idle, in use, or being made
  Duration backoff_{};
  BootTime not_before_{};
  std::string last_error_;
};

}  // namespace sagabox::postgres
