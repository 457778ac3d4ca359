#pragma once

#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sagabox::postgres {

/// When one reader of an outbox falls asleep and wakes up. Producers send a NOTIFY only while its
/// flag is up. Decides only: no clock, connection or thread.
///
/// The order is what keeps a commit from being missed: the flag goes up, then the reader looks, and
/// it goes on looking every millisecond until all transactions that its first look could not see
/// have ended. Whoever inserts later sees the flag, since he reads it after his insert.
class Sleep {
 public:
  /// Without work for so long, a reader wants to sleep; until then it looks at every
  /// `look_interval`.
  static constexpr Duration awake_for = std::chrono::milliseconds(20);
  static constexpr Duration look_interval = std::chrono::milliseconds(1);
  /// Transactions that outlast this are not waited for, also not next time: polling finds them.
  static constexpr Duration open_transactions_max = std::chrono::seconds(1);
  /// Rows found twice within this time, or so many at once, are load: the flag goes down. One alone
  /// is worth a NOTIFY.
  static constexpr Duration load_within = std::chrono::milliseconds(5);
  static constexpr std::size_t load_rows = 32;
  /// How often the flag is set again while asleep; it is void after ten seconds.
  static constexpr Duration flag_interval_default = std::chrono::seconds(3);

  /// Whoever waits so often without a look in between reads nothing: he needs no flag.
  static constexpr int waits_without_look_max = 3;

  explicit Sleep(Duration flag_interval = flag_interval_default) : flag_interval_(flag_interval) {}

  enum class Act : std::uint8_t {
    look,        ///< after `wait` at the latest
    raise_flag,  ///< then `raised`, and look
    lower_flag,  ///< then sleep
    sleep,       ///< for `wait` at the longest
  };
  struct Step {
    Act act = Act::look;
    Duration wait{};
  };

  /// `listening` numbers the session that hears NOTIFYs; nothing while there is none.
  [[nodiscard]] Step next(BootTime now, std::optional<std::uint64_t> listening);
  void raised(BootTime now, std::uint64_t listening);

  /// A look ended that began after all calls before. True when the flag must go down.
  [[nodiscard]] bool looked(BootTime now, const spi::Horizon& unseen, std::size_t rows);

  /// Somebody must send NOTIFYs.
  [[nodiscard]] bool flag_is_up() const noexcept { return phase_ != Phase::awake; }
  /// Transactions that did not see the flag may still be open.
  [[nodiscard]] bool is_falling() const noexcept { return phase_ == Phase::falling; }

 private:
  enum class Phase : std::uint8_t { awake, falling, asleep };

  void wait_for_open(BootTime now, const spi::Horizon& unseen);

  Duration flag_interval_;
  Phase phase_ = Phase::awake;
  int waits_without_look_ = 0;
  std::optional<BootTime> begun_at_;
  std::optional<BootTime> found_at_;
  BootTime raised_at_{};
  BootTime falling_since_{};
  std::optional<std::uint64_t> listening_;  ///< as it was when the flag went up
  /// What the first look after the flag could not see and is still open; nothing before that look.
  std::optional<std::vector<TransactionId>> open_;
  std::vector<TransactionId> given_up_;
};

}  // namespace sagabox::postgres
