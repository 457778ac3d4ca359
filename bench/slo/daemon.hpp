#pragma once

#include "support/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::bench::slo {

/// `sagabox serve` as it was built beside this program, delivering the outbox `default` to a
/// receiver on loopback.
class Daemon {
 public:
  struct Settings {
    std::string name;
    std::string store_url;
    std::uint16_t receiver_port = 0;
  };
  /// Returns when it is ready; throws when it does not get there.
  explicit Daemon(const Settings& settings);

  /// Of all series of the metric whose labels have this text in them.
  [[nodiscard]] double metric(const std::string& name, const std::string& label = {}) const;
  /// Throws when it ends otherwise than well.
  void end();

 private:
  [[nodiscard]] std::string said() const;

  std::filesystem::path folder_;
  std::string name_;
  testing::ServerProcess process_;
  std::uint16_t port_ = 0;
};

}  // namespace sagabox::bench::slo
