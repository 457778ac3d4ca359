#pragma once

#include "support/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A real PostgreSQL in a scratch folder on a free loopback port. When the process `watched` ends,
/// in any way, it is stopped and the folder removed.
struct PostgresServer {
  /// `unsynced` survives the end of its processes but not of the machine, which no test causes;
  /// commits cost a third. `durable` has the server's defaults.
  enum class Disk : std::uint8_t { durable, unsynced };

  /// Starts one. If that is not possible, `problem` says what is missing.
  static PostgresServer start(int watched, Disk disk = Disk::durable);
  /// Stops the one in that folder; not an error if there is none.
  static void stop(const std::filesystem::path& folder);

  /// Tells other processes of the test run where it is, or why there is none.
  void write(const std::filesystem::path& file) const;
  /// Stops the one described by the file; not an error if there is none.
  static void stop_written(const std::filesystem::path& file);

  /// The server of this test run: the one described by the file SAGABOX_TEST_POSTGRES, otherwise
  /// one of this process, started at first use.
  static const PostgresServer& shared();

  std::string problem{};  ///< empty if it runs
  bool installed = true;
  std::uint16_t port = 0;
  std::filesystem::path folder{};

  /// Another server that replicates this one; ends with this process.
  [[nodiscard]] PostgresServer start_replica() const;
  /// Promotes a replica to a primary; returns whether it succeeded.
  [[nodiscard]] bool promote() const;

  /// As after a power failure, on the same port; returns whether it runs again.
  [[nodiscard]] bool crash_and_restart() const;

  /// Key=value pairs for libpq.
  [[nodiscard]] std::string url() const;
};

}  // namespace sagabox::testing
