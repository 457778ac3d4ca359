#pragma once

#include "support/postgres_server.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A real pgbouncer in transaction mode before a server, on a free loopback port. Every transaction
/// meets another connection to the server than the one before. Ends with this object.
class Pgbouncer {
 public:
  /// What is missing on this machine; empty: nothing.
  static std::string missing();

  /// `connect_query` runs once on every connection to the server. Throws std::runtime_error when it
  /// does not start.
  Pgbouncer(const PostgresServer& server, const std::string& connect_query);
  ~Pgbouncer();
  Pgbouncer(const Pgbouncer&) = delete;
  Pgbouncer& operator=(const Pgbouncer&) = delete;

  /// From now on another server.
  void lead_to(const PostgresServer& server);

  /// Pairs for libpq.
  [[nodiscard]] std::string url() const;

  /// Connections to the server that transactions are spread over.
  static constexpr int spread = 4;

 private:
  void write_settings(const PostgresServer& server) const;
  void start();
  /// Makes so many connections to the server that later transactions find several.
  void warm_up() const;

  std::string connect_query_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace sagabox::testing
