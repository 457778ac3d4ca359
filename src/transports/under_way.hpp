#pragma once

#include <sagabox/spi/transport.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::transports {

/// The parcels that a transport has in hand, so many at most. Each gets one result, whoever comes
/// first: an answer, its deadline, the end. Thread-safe; results are told without a lock held.
class UnderWay {
 public:
  /// Which parcel; means nothing once it has its result.
  struct Key {
    std::uint32_t slot = 0;
    std::uint32_t turn = 0;
    [[nodiscard]] std::uint64_t packed() const noexcept {
      return (static_cast<std::uint64_t>(turn) << 32U) | slot;
    }
    static Key unpacked(std::uint64_t number) noexcept {
      return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U)};
    }
  };

  enum class Stage : std::uint8_t {
    waiting,   ///< nothing of it has left
    sent,      ///< no answer yet
    inquired,  ///< refused; the other side was asked why
  };

  explicit UnderWay(std::uint32_t parcels_max);
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  struct Admitted {
    Key key;
    spi::Parcel parcel;
  };
  /// Addresses must live until their parcels' results, which those of a transport do. Adds those
  /// that are taken to `taken`. The others have their result when it returns: `later`
  /// above the bound, `unreachable` after `shut`. Whether the next deadline is now an earlier one.
  bool admit(std::span<spi::Parcel> parcels, spi::SendResults& results,
             std::vector<Admitted>& taken);

  /// Says that it leaves now; false: it has its result already and must not.
  bool leave(Key key, BootTime now);
  /// For many at once: `may[i]` says whether `keys[i]` may.
  void leave(std::span<const Key> keys, BootTime now, std::vector<bool>& may);
  /// It has not left after all.
  void stay(Key key);
  /// As `leave`, for what was refused and is being asked about; null: it has its result already.
  const spi::Address* inquire(Key key);
  /// Null: it has its result already.
  [[nodiscard]] const spi::Address* address_of(Key key) const;
  [[nodiscard]] bool holds(Key key) const { return address_of(key) != nullptr; }
  /// No effect on one that has its result.
  void finish(Key key, spi::SendResult result);
  /// The same for many that were delivered.
  void deliver(std::span<const Key> keys);

  struct View {
    Stage stage;
    const spi::Address& address;
  };
  void finish_if(const std::function<bool(const View&)>& which, const spi::SendResult& result);

  /// Never later than the first deadline; nothing: none is under way.
  [[nodiscard]] std::optional<BootTime> next_due() const;
  /// Whether one of them is over.
  [[nodiscard]] bool is_due(BootTime now);
  struct Expired {
    std::size_t count = 0;
    /// When the first of them that had been sent was; nothing: none had.
    std::optional<BootTime> sent_at{};
  };
  /// Gives those that are due their result: by whether they had left.
  Expired expire(BootTime now, const spi::SendResult& waiting, const spi::SendResult& sent);

  [[nodiscard]] std::size_t count() const;

  /// Nothing is admitted any more.
  void shut();
  /// Waits until nothing is under way, at most so long; whether that is so.
  bool drained(Duration wait_max);
  /// Gives the rest its result, and returns when all results have been told.
  void end(const spi::SendResult& waiting, const spi::SendResult& sent);

 private:
  struct Slot {
    spi::SendResults* results = nullptr;  ///< null: free
    spi::Ticket ticket{};
    BootTime deadline{};
    BootTime sent_at{};
    const spi::Address* address = nullptr;
    std::uint32_t turn = 0;
    Stage stage = Stage::waiting;
  };
  struct Told {
    spi::SendResults* results;
    spi::Ticket ticket;
    Stage stage;
  };

  [[nodiscard]] const Slot* find(Key key) const;
  [[nodiscard]] Slot* find(Key key);
  Told release(Slot& slot);
  void told_all(std::size_t count);
  void tell(std::span<const Told> told, const std::function<spi::SendResult(const Told&)>& result);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  BootTime next_due_ = BootTime::max();
  std::atomic<std::size_t> telling_ = 0;  ///< raised under the mutex
  std::atomic<bool> shut_ = false;
};

}  // namespace sagabox::transports
