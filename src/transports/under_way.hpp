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

/// The parcels in flight of a transport, up to a maximum. Each gets exactly one result, from the
/// first of: an answer, its deadline, the end. Thread-safe; results are reported without a lock
/// held.
class UnderWay {
 public:
  /// Identifies a parcel; invalid once it has its result.
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
    waiting,   ///< not sent yet
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
  /// Addresses must live until their parcels' results, which those of a transport do. Adds the
  /// accepted parcels to `taken`. The others have their result when it returns: `later` above the
  /// bound, `unreachable` after `shut`. Returns whether the next deadline is earlier now.
  bool admit(std::span<spi::Parcel> parcels, spi::SendResults& results,
             std::vector<Admitted>& taken);

  /// Marks it as sent now; false if it has its result already and must not be sent.
  bool leave(Key key, BootTime now);
  /// The same for several: `may[i]` says whether `keys[i]` may be sent.
  void leave(std::span<const Key> keys, BootTime now, std::vector<bool>& may);
  /// Marks it as not sent after all.
  void stay(Key key);
  /// Like `leave`, for a refused parcel while the server is asked for the reason; null if it has
  /// its result already.
  const spi::Address* inquire(Key key);
  /// Null if it has its result already.
  [[nodiscard]] const spi::Address* address_of(Key key) const;
  [[nodiscard]] bool holds(Key key) const { return address_of(key) != nullptr; }
  /// No-op if it has its result already.
  void finish(Key key, spi::SendResult result);
  /// The same for many that were delivered.
  void deliver(std::span<const Key> keys);

  struct View {
    Stage stage;
    const spi::Address& address;
  };
  void finish_if(const std::function<bool(const View&)>& which, const spi::SendResult& result);

  /// Never later than the first deadline; nullopt if none is in flight.
  [[nodiscard]] std::optional<BootTime> next_due() const;
  /// Whether a deadline has passed.
  [[nodiscard]] bool is_due(BootTime now);
  struct Expired {
    std::size_t count = 0;
    /// When the first of the expired ones was sent; nullopt if none was.
    std::optional<BootTime> sent_at{};
  };
  /// Gives those past their deadline a result, which depends on whether they were sent.
  Expired expire(BootTime now, const spi::SendResult& waiting, const spi::SendResult& sent);

  [[nodiscard]] std::size_t count() const;

  /// Admits nothing from now on.
  void shut();
  /// Waits until nothing is in flight, at most this long; returns whether that is so.
  bool drained(Duration wait_max);
  /// Gives the rest its result, and returns when all results have been reported.
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
  std::atomic<std::size_t> telling_ = 0;  ///< incremented under the mutex
  std::atomic<bool> shut_ = false;
};

}  // namespace sagabox::transports
