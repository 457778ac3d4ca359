#pragma once

#include <sagabox/error.hpp>
#include <sagabox/spi/idempotency_store.hpp>
#include <sagabox/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// What a guard makes of a store's answers. Pure.
namespace sagabox::idempotency {

enum class Verdict : std::uint8_t { go, replay, busy, last_failed, mismatch };

/// Of a request with this hash.
[[nodiscard]] Verdict judge(const spi::IdempotencyCheckReply& reply, const Digest& request_hash);

/// TX.IDEMPOTENT_…, for `busy`, `last_failed` and `mismatch`.
[[nodiscard]] Error refusal(Verdict verdict, const IdempotencyRecord& record);

/// A lease as its holder counts it, on its own clock: from before the call that got it, so that it
/// ends here before it ends at the store.
class HeldLease {
 public:
  enum class Due : std::uint8_t { nothing, renewal, stop };

  HeldLease(Duration lease, Duration renew_interval, BootTime asked_at)
      : lease_(lease), renew_interval_(renew_interval) {
    renewed(asked_at);
  }
  void renewed(BootTime asked_at) {
    renew_at_ = asked_at + renew_interval_;
    until_ = asked_at + lease_;
  }
  /// A renewal failed: it is tried again soon.
  void failed(BootTime now) { renew_at_ = now + renew_interval_ / 4; }
  [[nodiscard]] Due due(BootTime now) const noexcept {
    if (now >= until_) return Due::stop;
    return now >= renew_at_ ? Due::renewal : Due::nothing;
  }
  [[nodiscard]] BootTime until() const noexcept { return until_; }
  /// When something is due next.
  [[nodiscard]] BootTime next() const noexcept { return std::min(renew_at_, until_); }

 private:
  Duration lease_;
  Duration renew_interval_;
  BootTime renew_at_{};
  BootTime until_{};
};

/// What is stored of a result.
struct Stored {
  std::optional<std::string> result;
  Digest digest{};
};
[[nodiscard]] Stored bounded(std::string bytes, std::optional<std::string> if_too_large,
                             std::size_t bytes_max);

}  // namespace sagabox::idempotency
