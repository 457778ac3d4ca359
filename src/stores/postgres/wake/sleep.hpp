#pragma once

#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sagabox::postgres {

/// Decides when one reader of an outbox falls asleep and wakes up. Producers send a NOTIFY only
/// while its flag is up. Decides only: no clock, connection or thread.
///
/// The order ensures that no commit is missed: the flag is raised, then the reader looks, and it
/// looks again every millisecond until all transactions that its first look could not see have
/// ended. A transaction that inserts later sees the flag, because it reads the flag after its
/// insert.
class Sleep {
 public:
  /// A reader without work for this long wants to sleep; until then it looks at every
  /// `look_interval`.
  static constexpr Duration awake_for = std::chrono::milliseconds(20);
  static constexpr Duration look_interval = std::chrono::milliseconds(1);
  /// Transactions that outlast this are not waited for, also not the next time: polling finds their
  /// rows.
  static constexpr Duration open_transactions_max = std::chrono::seconds(1);
  /// Rows found twice within this time, or this many at once, count as load: the flag is lowered. A
  /// single row is worth a NOTIFY.
  static constexpr Duration load_within = std::chrono::milliseconds(5);
  static constexpr std::size_t load_rows = 32;
  /// How often the flag is renewed while asleep; it expires after ten seconds.
  static constexpr Duration flag_interval_default = std::chrono::seconds(3);

  /// After this many waits without a look in between, the thread is not a reader: it needs no flag.
  static constexpr int waits_without_look_max = 3;

  explicit Sleep(Duration flag_interval = flag_interval_default) : flag_interval_(flag_interval) {}

  enum class Act : std::uint8_t {
    look,        ///< after at most `wait`
    raise_flag,  ///< then call `raised`, and look
    lower_flag,  ///< then sleep
    sleep,       ///< for at most `wait`
  };
  struct Step {
    Act act = Act::look;
    Duration wait{};
  };

  /// `listening` is the number of the session that receives NOTIFYs; nullopt while there is none.
  [[nodiscard]] Step next(BootTime now, std::optional<std::uint64_t> listening);
  void raised(BootTime now, std::uint64_t listening);

  /// A look that began after all earlier calls has ended. Returns true if the flag must be lowered.
  [[nodiscard]] bool looked(BootTime now, const spi::Horizon& unseen, std::size_t rows);

  /// Producers must send NOTIFYs.
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
  std::optional<std::uint64_t> listening_;  ///< the session when the flag was raised
  /// The transactions that the first look after the flag could not see and that are still open;
  /// nullopt before that look.
  std::optional<std::vector<TransactionId>> open_;
  std::vector<TransactionId> given_up_;
};

}  // namespace sagabox::postgres
