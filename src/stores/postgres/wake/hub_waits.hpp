#pragma once

#include "stores/postgres/driver/session.hpp"
#include "stores/postgres/wake/wake.hpp"
#include "stores/sql/hub_records.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

namespace sagabox::postgres {

/// From the first row of a read of sagas' inbox or of events, or of `hub_unseen`.
std::optional<spi::Horizon> horizon_in(const sql::Row& row);

/// Waiting for the three feeds of the hub. A read of events has its snapshot, and says itself what
/// it could not see. Deliveries and jobs are read by many small statements: what these could not
/// see is asked before them, while a flag has gone up that must not be trusted yet. Thread-safe.
class HubWaits {
 public:
  HubWaits(sql::Sections& sections, Context& context, Wake& wake);

  void wait(std::string_view feed, Duration timeout);
  void notify(std::string_view feed) { wake_.notify(feed_of(feed).watched); }
  /// A read of events is through.
  void looked(const spi::Horizon& unseen, std::size_t rows);
  /// A read of another feed is: many rows are load, for which no NOTIFY is worth its price.
  void found(std::string_view feed, std::size_t rows) { feed_of(feed).rows += rows; }

 private:
  struct Feed {
    WatchedFeed watched;
    bool tells_unseen = false;  ///< its reads do
    std::atomic<std::size_t> rows{0};
    std::mutex mutex{};
    /// What the reads of a thread since its last wait could not see, at least.
    std::map<std::thread::id, spi::Horizon> unseen{};
  };
  Feed& feed_of(std::string_view name);
  static std::optional<spi::Horizon> take_unseen(Feed& feed);
  void look_before_reads(Feed& feed);

  Context& context_;
  Wake& wake_;
  const sql::Statement unseen_;
  std::array<Feed, 3> feeds_;
};

}  // namespace sagabox::postgres
