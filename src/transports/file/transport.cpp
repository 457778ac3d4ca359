#include "core/text.hpp"
#include "transports/file/line_file.hpp"
#include "transports/structured.hpp"
#include "transports/timed_parcels.hpp"

#include <sagabox/transports/file.hpp>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
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

struct Place final : spi::Address {
  Place(std::shared_ptr<LineFile> to, Sync how) : file(std::move(to)), sync(how) {}
  std::shared_ptr<LineFile> file;
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
      if (!settings.empty())
        return invalid(text, "has no settings; leave out " + quoted(settings[0].first));
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
    std::ranges::move(taken, std::back_inserter(queue_));
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
  using Items = std::vector<TimedParcels::ItemPtr>;

  std::shared_ptr<const spi::Address> place(const std::string& path, Sync sync) {
    const std::lock_guard lock(mutex_);
    // All addresses with this path, so that its lines have one order.
    auto& file = files_[path];
    if (!file) file = std::make_shared<LineFile>(path);
    if (sync == Sync::no && !path.empty()) not_synced_.insert(path);
    return std::make_shared<const Place>(file, sync);
  }

  void write_all() {
    // A reader that goes away is an error of the write, not the end of the process.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ended_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto items = std::exchange(queue_, {});
      lock.unlock();
      while (!items.empty()) write_some(items);
      lock.lock();
    }
  }

  /// All that goes to the file of the first one, as much as is written at once.
  void write_some(Items& items) {
    auto* const file = place_of(*items.front()).file.get();
    Items mine;
    std::vector<std::size_t> ends;
    std::string lines;
    auto sync = Sync::no;
    const auto rest = std::stable_partition(items.begin(), items.end(), [&](const auto& item) {
      return place_of(*item).file.get() == file;
    });
    auto next = items.begin();
    for (; next != rest && lines.size() < write_bytes_max; ++next) {
      if ((*next)->answered()) continue;
      transports::append_structured(lines, (*next)->parcel(), {.one_line = true, .headers = true});
      lines += '\n';
      ends.push_back(lines.size());
      if (place_of(**next).sync == Sync::yes) sync = Sync::yes;
      mine.push_back(std::move(*next));
    }
    items.erase(items.begin(), next);
    if (mine.empty()) return;
    const auto wanted = [&] {
      return std::ranges::any_of(mine, [](const auto& item) { return !item->answered(); });
    };
    const auto done = file->append(lines, sync, wanted);
    for (std::size_t at = 0; at < mine.size(); ++at) {
      parcels_.answer(*mine[at], ends[at] <= done.bytes
                                     ? SendResult{}
                                     : SendResult{Kind::unreachable, done.error, {}});
    }
    if (!done.error.empty()) fail_those_behind(items, *file, done.error);
  }

  /// What was handed over before a failure was known must not overtake it.
  void fail_those_behind(Items& items, const LineFile& file, const std::string& error) {
    const auto is_behind = [&](const auto& item) { return place_of(*item).file.get() == &file; };
    Items behind;
    const auto take_from = [&](Items& some) {
      const auto rest = std::ranges::stable_partition(some, std::not_fn(is_behind));
      behind.insert(behind.end(), rest.begin(), rest.end());
      some.erase(rest.begin(), rest.end());
    };
    take_from(items);
    {
      const std::lock_guard lock(mutex_);
      take_from(queue_);
    }
    for (const auto& item : behind) {
      parcels_.answer(*item, SendResult{Kind::unreachable, error, {}});
    }
  }

  const Options options_;
  TimedParcels parcels_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Items queue_;
  std::map<std::string, std::shared_ptr<LineFile>> files_;
  std::set<std::string> not_synced_;
  bool ended_ = false;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<spi::Transport> open(const Options& options) {
  return std::make_unique<FileTransport>(options);
}

}  // namespace sagabox::file
