#include "core/text.hpp"
#include "transports/file/line_file.hpp"
#include "transports/structured.hpp"
#include "transports/timed_parcels.hpp"

#include <sagabox/transports/file.hpp>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
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
/// Written at once.
constexpr std::size_t write_bytes_max = 4UL * 1024 * 1024;

using Items = std::vector<TimedParcels::ItemPtr>;

/// A file and what waits to be written to it; one for all addresses with its path, so that its
/// lines have one order.
struct Lane {
  explicit Lane(const std::string& path) : file(path) {}
  LineFile file;  ///< the writing thread's
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

Error invalid(std::string_view address, const std::string& what) {
  return {Code::config_invalid, quoted(address) + ": " + what};
}

/// Empty: it is one.
std::string path_problem(std::string_view path) {
  constexpr std::string_view right = "; say file:/var/log/orders.jsonl";
  std::string_view wrong;
  if (path.empty()) {
    wrong = "names no file";
  } else if (text_facts(path).unprintable_at != std::string_view::npos) {
    wrong = "has a control character or is not UTF-8";
  } else if (path.starts_with("//") && !path.starts_with("///")) {
    wrong = "names a host, and files are on this one";
  } else if (path.ends_with('/')) {
    wrong = "names a folder";
  } else {
    return {};
  }
  return std::string(wrong) + std::string(right);
}

Result<Sync> sync_of(std::string_view address, const spi::AddressSettings& settings) {
  auto sync = Sync::no;
  for (const auto& [name, value] : settings) {
    if (name != "sync") {
      return invalid(address, "unknown setting " + quoted(name) + "; there is sync: true");
    }
    if (value != "true" && value != "false") {
      return invalid(address, "sync is " + quoted(value) + "; say true or false");
    }
    sync = value == "true" ? Sync::yes : Sync::no;
  }
  return sync;
}

class FileTransport final : public spi::Transport {
 public:
  explicit FileTransport(const Options& options)
      : options_(options),
        parcels_({.clock = *options.clock,
                  .items_max = options.in_flight_max,
                  .timed_out_error = "not written by the deadline"}),
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
    if (text == stdout_name) {
      if (!settings.empty()) {
        return invalid(text, "has no settings; leave out " + quoted(settings[0].first));
      }
      return place("", Sync::no);
    }
    if (!text.starts_with(file_scheme)) {
      return invalid(text, "not of this transport; say file:path or stdout:");
    }
    const auto path = text.substr(file_scheme.size());
    if (auto problem = path_problem(path); !problem.empty()) return invalid(text, problem);
    const auto sync = sync_of(text, settings);
    if (!sync) return sync.error();
    return place(std::string(path), *sync);
  }

  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    auto taken = parcels_.take(parcels, results);
    if (taken.empty()) return;
    const std::lock_guard lock(mutex_);
    for (auto& item : taken) {
      const auto& lane = place_of(*item).lane;
      if (lane->waiting.empty()) lanes_.push_back(lane);
      lane->waiting.push_back(std::move(item));
    }
    changed_.notify_one();
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
    // A reader that goes away is an error of the write, not the end of the process.
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

  void write(Lane& lane, const Items& items) {
    std::string error;
    for (std::span rest(items); !rest.empty();) {
      rest = rest.subspan(write_some(lane.file, rest, error));
      if (error.empty()) continue;
      fail(rest, error);
      // What was handed over before the failure was known must not overtake it.
      Items behind;
      {
        const std::lock_guard lock(mutex_);
        behind.swap(lane.waiting);
        std::erase_if(lanes_, [&](const auto& other) { return other.get() == &lane; });
      }
      fail(behind, error);
      return;
    }
  }

  /// The first ones, as many as go in one write; how many that were. With an error those behind
  /// them must not be written.
  std::size_t write_some(LineFile& file, std::span<const TimedParcels::ItemPtr> items,
                         std::string& error) {
    std::string lines;
    std::vector<std::size_t> ends;
    auto sync = Sync::no;
    for (const auto& item : items) {
      if (lines.size() >= write_bytes_max || item->answered()) break;
      transports::append_structured(lines, item->parcel(), {.one_line = true, .headers = true});
      lines += '\n';
      ends.push_back(lines.size());
      if (place_of(*item).sync == Sync::yes) sync = Sync::yes;
    }
    if (lines.empty()) {
      error = "one before it was not written by its deadline";
      return 1;
    }
    const auto batch = items.first(ends.size());
    // Nothing is written of one that was told that its time is over.
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
    error = done.error;
    return batch.size();
  }

  void fail(std::span<const TimedParcels::ItemPtr> items, const std::string& error) {
    for (const auto& item : items) parcels_.answer(*item, {Kind::unreachable, error, {}});
  }

  const Options options_;
  TimedParcels parcels_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Lane>> known_;  ///< by path
  std::set<std::string> not_synced_;
  std::deque<std::shared_ptr<Lane>> lanes_;  ///< where something waits
  bool ended_ = false;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<spi::Transport> open(const Options& options) {
  return std::make_unique<FileTransport>(options);
}

}  // namespace sagabox::file
