#include "outbox/upkeep/control_reader.hpp"

#include <algorithm>

namespace sagabox::outbox {
namespace {

/// Short, because nothing is delivered before the first successful read.
constexpr Duration control_retry_min = std::chrono::milliseconds(50);

}  // namespace

Result<spi::Controls> ControlReader::perform() { return parts_.store.controls(parts_.table); }

void ControlReader::apply(const Result<spi::Controls>& reply, BootTime now) {
  if (!reply.ok()) {
    next_ = now + std::min(interval_, control_retry_min * (1 << std::min(failures_, 7U)));
    if (failures_++ == 0) {
      parts_.log.log(LogLevel::warning, "pauses could not be read, the last ones hold",
                     {{"table", std::string_view(parts_.table.str())},
                      {"code", code_name(reply.error().code)},
                      {"error", std::string_view(reply.error().message)}});
    }
    return;
  }
  failures_ = 0;
  next_ = now + interval_;
  // Wake the reader, because its poll interval may be long.
  if (parts_.pauses.set(reply->pauses)) {
    parts_.intake.reopen();
    parts_.wake_reader();
  }
  // Not needed after the first read, because shards load their blocked keys when they are acquired.
  if (taken_ && *taken_ != reply->taken) {
    parts_.shards.check_blocked_keys();
    parts_.wake_reader();
  }
  taken_ = reply->taken;
}

}  // namespace sagabox::outbox
