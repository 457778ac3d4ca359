#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "transports/file/line_file.hpp"
#include "transports/settings.hpp"
#include "transports/structured.hpp"
#include "transports/timed_parcels.hpp"

#include <sagabox/transports/file.hpp>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>

namespace sagabox::file {
namespace {

using spi::SendResult;
using transports::TimedParcels;
using Kind = SendResult::Kind;

constexpr std::string_view file_scheme = "file:";
constexpr std::string_view stdout_name = "stdout:";
/// The size of one write.
constexpr std::size_t write_bytes_max = 4UL * 1024 * 1024;

using Items = std::vector<TimedParcels::ItemPtr>;

const SendResult overtaking{
    Kind::later, "one before it in the file was not written by its deadline", std::nullopt};

/// A file and the items to be written to it; shared by all addresses with its path, so that its
/// lines have one order.
struct Lane {
  explicit Lane(const std::string& path) : file(path) {}
  LineFile file;  ///< used by the writing thread
  Items waiting{};
};

struct Place final : spi::Address {
  Place(std::shared_ptr<Lane> to, Sync how) : lane(std::move(to)), sync(how) {}
  std::shared_ptr<Lane> lane;
  Sync sync;
};

const Place& place_of(const TimedParcels::Item& item) {
  return static_cast<const Place&>(*item.parcel().address);
}

Result<std::string_view> path_of(std::string_view address) {
  constexpr std::string_view example = "file:/var/log/orders.jsonl";
  const auto path = transports::after_scheme(address, file_scheme, example);
  if (!path) return path;
  const auto wrong = [&](const std::string& what) {
    return Error{Code::config_invalid, "address " + quoted(masked_url(address)) + ": " + what +
                                           "; write it as " + std::string(example)};
  };
  if (path->starts_with("//") && !path->starts_with("///")) {
    return wrong("it names a host, and files are on this one");
  }
  if (path->ends_with('/')) return wrong("it names a folder");
  return path;
}

class FileTransport final : public spi::Transport {
 public:
  explicit FileTransport(const Options& options)
      : options_(options),
        parcels_({.clock = *options.clock,
                  .items_max = options.in_flight_max,
                  .timed_out_error = "not written by the deadline",
                  .expired = [this](const auto& item) { withdraw(item); }}),
        writer_([this] { write_all(); }) {}
  ~FileTransport() override {
    parcels_.close(options_.clock->boot_now());
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    writer_.join();
  }

  [[nodiscard]] spi::TransportTraits traits() const override {
    return {.keeps_order = true, .in_flight_max = options_.in_flight_max};
  }

  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override {
    transports::Settings known(settings);
    if (text == stdout_name) {
      if (auto status = known.check(); !status) return status.error();
      return place("", Sync::no);
    }
    const auto path = path_of(text);
    if (!path) return path.error();
    const auto sync = known.flag("sync", false) ? Sync::yes : Sync::no;
    if (auto status = known.check(); !status) return status.error();
    return place(std::string(*path), sync);
  }

  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    auto taken = parcels_.take(parcels, results);
    if (taken.empty()) return;
    Items behind;
    {
      const std::lock_guard lock(mutex_);
      std::set<const Lane*> given_up;
      for (auto& item : taken) {
        const auto& lane = place_of(*item).lane;
        // Its deadline passed before it was queued, so it would never be withdrawn.
        if (item->answered()) {
          given_up.insert(lane.get());
        } else if (given_up.contains(lane.get())) {
          behind.push_back(std::move(item));
        } else {
          if (lane->waiting.empty()) lanes_.push_back(lane);
          lane->waiting.push_back(std::move(item));
        }
      }
    }
    changed_.notify_one();
    fail_all(behind, overtaking);
  }

  Result<std::vector<std::string>> findings(BootTime) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& path : not_synced_) {
      found.push_back("file:" + path + " is not synced: a power cut may take away what was " +
                      "delivered; sync: true waits for the disk");
    }
    return found;
  }

  void close(BootTime deadline) override { parcels_.close(deadline); }

 private:
  std::shared_ptr<const spi::Address> place(const std::string& path, Sync sync) {
    const std::lock_guard lock(mutex_);
    auto& lane = known_[path];
    if (!lane) lane = std::make_shared<Lane>(path);
    if (sync == Sync::no && !path.empty()) not_synced_.insert(path);
    return std::make_shared<const Place>(lane, sync);
  }

  void write_all() {
    // A closed reader must be an error of the write, not end the process.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ended_ || !lanes_.empty(); });
      if (lanes_.empty()) return;
      const auto lane = std::move(lanes_.front());
      lanes_.pop_front();
      const auto items = std::exchange(lane->waiting, {});
      lock.unlock();
      write(*lane, items);
      lock.lock();
    }
  }

  /// Drops a waiting item past its deadline, because the disk or the reader of the pipe may never
  /// accept it. Items behind it in its file are deferred too, because they must not overtake it.
  void withdraw(const TimedParcels::ItemPtr& item) {
    Items behind;
    {
      const std::lock_guard lock(mutex_);
      auto& lane = *place_of(*item).lane;
      const auto found = std::ranges::find(lane.waiting, item);
      if (found == lane.waiting.end()) return;
      behind.assign(found + 1, lane.waiting.end());
      lane.waiting.erase(found, lane.waiting.end());
      if (lane.waiting.empty()) forget(lane);
    }
    fail_all(behind, overtaking);
  }

  /// Requires the lock.
  void forget(const Lane& lane) {
    std::erase_if(lanes_, [&](const auto& other) { return other.get() == &lane; });
  }

  void write(Lane& lane, const Items& items) {
    std::optional<SendResult> stopped;
    for (std::span rest(items); !rest.empty();) {
      rest = rest.subspan(write_some(lane.file, rest, stopped));
      if (!stopped) continue;
      fail_all(rest, *stopped);
      // Items queued before the failure was known must not overtake it.
      Items behind;
      {
        const std::lock_guard lock(mutex_);
        behind.swap(lane.waiting);
        forget(lane);
      }
      fail_all(behind, *stopped);
      return;
    }
  }

  /// Writes the first items, as many as fit in one write, and returns their number. `stopped` is
  /// set to the result of the items behind them if those must not be written.
  std::size_t write_some(LineFile& file, std::span<const TimedParcels::ItemPtr> items,
                         std::optional<SendResult>& stopped) {
    std::string lines;
    std::vector<std::size_t> ends;
    auto sync = Sync::no;
    for (const auto& item : items) {
      if (lines.size() >= write_bytes_max || !parcels_.begin(*item)) break;
      transports::append_structured(lines, item->parcel(), {.one_line = true, .headers = true});
      lines += '\n';
      ends.push_back(lines.size());
      if (place_of(*item).sync == Sync::yes) sync = Sync::yes;
    }
    if (lines.empty()) {
      stopped = overtaking;
      return 1;
    }
    const auto batch = items.first(ends.size());
    // Stops before any item that was told that its deadline has passed.
    const auto done = file.append(lines, sync, [&] {
      return std::ranges::none_of(batch, [](const auto& item) { return item->answered(); });
    });
    for (std::size_t at = 0; at < batch.size(); ++at) {
      if (ends[at] <= done.bytes) {
        parcels_.answer(*batch[at], {});
      } else {
        parcels_.answer(*batch[at], {Kind::unreachable, done.error, {}});
      }
    }
    if (!done.error.empty()) stopped = SendResult{Kind::unreachable, done.error, {}};
    return batch.size();
  }

  void fail_all(std::span<const TimedParcels::ItemPtr> items, const SendResult& result) {
    for (const auto& item : items) parcels_.answer(*item, result);
  }

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Lane>> known_;  ///< by path
  std::set<std::string> not_synced_;
  std::deque<std::shared_ptr<Lane>> lanes_;  ///< lanes with waiting items
  bool ended_ = false;
  TimedParcels parcels_;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<spi::Transport> open(const Options& options) {
  return std::make_unique<FileTransport>(options);
}

}  // namespace sagabox::file
