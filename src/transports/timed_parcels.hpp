#pragma once

#include <sagabox/spi/transport.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::transports {

/// Parcels that were sent and have no result yet, for transports that do the work in threads of
/// their own. Each gets one result: the first that is given, or at its deadline `timed_out`, or
/// `later` if its work had not begun. Thread-safe.
class TimedParcels {
 public:
  class Item;
  using ItemPtr = std::shared_ptr<Item>;

 private:
  using ByDeadline = std::multimap<BootTime, ItemPtr>;

 public:
  class Item {
   public:
    Item(spi::Parcel parcel, spi::SendResults& results)
        : table_(*parcel.table), parcel_(std::move(parcel)), results_(results) {
      parcel_.table = &table_;
    }
    Item(const Item&) = delete;
    Item& operator=(const Item&) = delete;
    [[nodiscard]] const spi::Parcel& parcel() const noexcept { return parcel_; }
    /// It has its result: there is nothing left to do for it.
    [[nodiscard]] bool answered() const noexcept { return answered_.load(); }

   private:
    friend class TimedParcels;
    // A copy: the sender's table lives only until the result, and work may continue after it.
    const TableName table_;
    spi::Parcel parcel_;
    spi::SendResults& results_;
    std::atomic<bool> answered_{false};
    bool begun_ = false;
    ByDeadline::iterator place_{};  ///< until it is answered
  };

  struct Options {
    const Clock& clock;
    std::uint32_t items_max;
    std::string timed_out_error;  ///< the error text for a missed deadline
    /// Called before the result for a missed deadline is reported; the item is `answered()` by
    /// then.
    std::function<void(const ItemPtr&)> expired{};
  };
  explicit TimedParcels(Options options);
  ~TimedParcels();
  TimedParcels(const TimedParcels&) = delete;
  TimedParcels& operator=(const TimedParcels&) = delete;

  /// Returns the accepted ones, in order. The others have their results: closed, too many, too
  /// late.
  [[nodiscard]] std::vector<ItemPtr> take(std::span<spi::Parcel> parcels,
                                          spi::SendResults& results);
  /// Marks its work as begun; false if it has its result already, and the work must not be done.
  bool begin(Item& item);
  /// Returns false if it had a result already.
  bool answer(Item& item, spi::SendResult result);
  /// See `Transport::close`.
  void close(BootTime deadline);

 private:
  /// Reports results for deadlines up to `until`, and releases the lock meanwhile.
  void give_up(std::unique_lock<std::mutex>& lock, BootTime until, const spi::SendResult& waiting,
               const spi::SendResult& begun);
  void watch();

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ByDeadline items_;
  std::size_t telling_ = 0;  ///< results being reported
  bool closed_ = false;
  bool ended_ = false;
  std::thread watcher_;
};

}  // namespace sagabox::transports
