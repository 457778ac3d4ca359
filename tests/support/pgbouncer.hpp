#pragma once

#include "support/postgres_server.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A real pgbouncer in transaction mode in front of a server, on a free loopback port. Every
/// transaction uses another connection to the server than the previous one. Ends with this object.
class Pgbouncer {
 public:
  /// What is missing on this machine; empty if nothing is.
  static std::string missing();

  /// `connect_query` runs once on every connection to the server. Throws std::runtime_error if it
  /// does not start.
  Pgbouncer(const PostgresServer& server, const std::string& connect_query);
  ~Pgbouncer();
  Pgbouncer(const Pgbouncer&) = delete;
  Pgbouncer& operator=(const Pgbouncer&) = delete;

  /// Uses this server from now on.
  void lead_to(const PostgresServer& server);

  /// Key=value pairs for libpq.
  [[nodiscard]] std::string url() const;

  /// The number of connections to the server that transactions are distributed over.
  static constexpr int spread = 4;

 private:
  void write_settings(const PostgresServer& server) const;
  void start();
  /// Opens these connections, so that later transactions are distributed over several.
  void warm_up() const;

  std::string connect_query_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace sagabox::testing
