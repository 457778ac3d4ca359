#pragma once

#include "outbox/read/intake.hpp"
#include "outbox/read/shards.hpp"
#include "outbox/upkeep/pauses.hpp"

#include <sagabox/log.hpp>
#include <sagabox/spi/control_store.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace sagabox::outbox {

/// Reads every second the requests of operators to the relays of a table and applies them: pauses,
/// and checks of keys whose blocking message was removed. While the store cannot be read, the last
/// requests stay in effect. `plan`, `perform` and `apply` must be called by one thread.
class ControlReader {
 public:
  struct Parts {
    spi::ControlStore& store;
    const TableName& table;
    Pauses& pauses;
    Shards& shards;
    Intake& intake;
    Logger& log;
    std::function<void()> wake_reader;
  };
  ControlReader(Parts parts, Duration interval) : parts_(std::move(parts)), interval_(interval) {}

  /// Whether a read is due.
  [[nodiscard]] bool plan(BootTime now) const { return now >= next_; }
  /// One call of the store.
  [[nodiscard]] Result<spi::Controls> perform();
  void apply(const Result<spi::Controls>& reply, BootTime now);
  [[nodiscard]] BootTime next() const noexcept { return next_; }

 private:
  Parts parts_;
  Duration interval_;
  BootTime next_ = BootTime::min();
  std::uint32_t failures_ = 0;
  std::optional<std::uint64_t> taken_;
};

}  // namespace sagabox::outbox
