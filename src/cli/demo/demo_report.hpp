#pragma once

#include "cli/terminal.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::cli {

/// Everything that the demo shows, at one moment.
struct DemoStats {
  Duration elapsed{};
  std::uint64_t committed = 0;  ///< orders in the business table
  std::uint64_t rolled_back = 0;
  std::uint64_t attempts_failed = 0;
  std::uint64_t ghosts = 0;
  std::uint64_t replayed = 0;
  bool paused = false;  ///< an operator has paused the table
  spi::TableStats stats{};
  OutboxSnapshot outbox{};
};

/// Rates per second, over the time between two samples that are far enough apart.
class Rates {
 public:
  void add(const DemoStats& figures);
  [[nodiscard]] std::uint64_t in() const noexcept { return in_; }
  [[nodiscard]] std::uint64_t out() const noexcept { return out_; }

 private:
  std::optional<DemoStats> before_;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
};

/// The block that is redrawn in place.
std::vector<Line> demo_block(const DemoStats& figures, const Rates& rates);
/// The same in one line, for logs and pipes.
Line demo_line(const DemoStats& figures, const Rates& rates);

/// True if every committed order is delivered, pending, dead or quarantined, and none that was
/// rolled back was delivered.
bool adds_up(const DemoStats& figures);
std::vector<Line> demo_summary(const DemoStats& figures);
/// One JSON object.
std::string demo_summary_json(const DemoStats& figures, std::string_view store);

}  // namespace sagabox::cli
