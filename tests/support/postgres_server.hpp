#pragma once

#include "support/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A real PostgreSQL in a scratch folder on a free loopback port. It is stopped, and the folder
/// removed, when the process `watched` ends, however that ends.
struct PostgresServer {
  /// Unsynced, it survives the end of its processes but not of the machine, which no test brings
  /// about; commits cost a third. Durable: as the server's own defaults are.
  enum class Disk : std::uint8_t { durable, unsynced };

  /// Starts one. `problem` says what is missing where that is not possible.
  static PostgresServer start(int watched, Disk disk = Disk::durable);
  /// Stops the one in that folder; no error when there is none.
  static void stop(const std::filesystem::path& folder);

  /// For other processes of the test run: where it is, or why there is none.
  void write(const std::filesystem::path& file) const;
  /// Stops the one that the file tells of; no error when there is none.
  static void stop_written(const std::filesystem::path& file);

  /// The server of this test run: the one that the file SAGABOX_TEST_POSTGRES tells of, else one
  /// of this process, started when first asked for.
  static const PostgresServer& shared();

  std::string problem{};  ///< empty: it runs
  bool installed = true;
  std::uint16_t port = 0;
  std::filesystem::path folder{};

  /// Another server that follows this one; ends with this process.
  [[nodiscard]] PostgresServer start_replica() const;
  /// A replica becomes a primary; whether it did.
  [[nodiscard]] bool promote() const;

  /// As after a loss of power, on the same port; whether it runs again.
  [[nodiscard]] bool crash_and_restart() const;

  /// Pairs for libpq.
  [[nodiscard]] std::string url() const;
};

}  // namespace sagabox::testing
