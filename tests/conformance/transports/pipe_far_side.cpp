#include "conformance/transports/event_line.hpp"
#include "conformance/transports/transport_conformance.hpp"

#include <sagabox/transports/file.hpp>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

namespace sagabox::testing {
namespace {

constexpr int page = 4096;

/// Named pipes with a reader, who may go away or stop reading.
class PipeSide final : public FarSide {
 public:
  PipeSide() {
    std::string name = std::filesystem::temp_directory_path() / "sagabox-pipes-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for pipes");
    folder_ = name;
    reader_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) read_all();
    });
  }
  ~PipeSide() override {
    reader_ = {};
    PipeSide::stop();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<spi::Transport> open() override { return file::open(); }
  std::string fresh_address() override {
    const std::lock_guard lock(mutex_);
    const std::string path = folder_ / ("pipe-" + std::to_string(pipes_.size()));
    if (::mkfifo(path.c_str(), S_IRUSR | S_IWUSR) != 0) throw std::runtime_error("no pipe");
    open_pipe(path, pipes_["file:" + path]);
    return "file:" + path;
  }
  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    std::unique_lock lock(mutex_);
    auto& pipe = pipes_.at(address);
    changed_.wait_for(lock, OutTray::patience, [&] { return pipe.arrived.size() >= count; });
    return pipe.arrived;
  }

  bool stop() override {
    // While somebody polls it, a pipe that was closed still has a reader.
    const std::lock_guard reading(reading_);
    const std::lock_guard lock(mutex_);
    for (auto& [address, pipe] : pipes_) ::close(std::exchange(pipe.descriptor, -1));
    return true;
  }
  void start() override {
    const std::lock_guard lock(mutex_);
    for (auto& [address, pipe] : pipes_) open_pipe(address.substr(address.find(':') + 1), pipe);
  }
  /// What is in a pipe when its reader goes is gone.
  [[nodiscard]] bool keeps_after_stop() const override { return false; }

  bool stall() override {
    const std::lock_guard lock(mutex_);
    stalled_ = true;
    // Full, so that nothing that is written seems to be read.
    const std::string filler(page - 1, ' ');
    for (auto& [address, pipe] : pipes_) {
      while (::write(pipe.descriptor, (filler + "\n").data(), page) > 0) {
      }
    }
    return true;
  }
  void go_on() override {
    const std::lock_guard lock(mutex_);
    stalled_ = false;
  }

 private:
  struct Pipe {
    int descriptor = -1;
    std::string unread_end{};  ///< of a line that is not complete
    std::vector<Arrived> arrived{};
  };

  /// To write, too: then there is no end when the transport closes its side.
  static void open_pipe(const std::string& path, Pipe& pipe) {
    pipe.descriptor = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ::fcntl(pipe.descriptor, F_SETPIPE_SZ, page);
    pipe.unread_end.clear();
  }

  void read_all() {
    const std::lock_guard reading(reading_);
    std::vector<pollfd> ready;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [address, pipe] : pipes_) {
        if (!stalled_) ready.push_back({.fd = pipe.descriptor, .events = POLLIN, .revents = 0});
      }
    }
    ::poll(ready.data(), ready.size(), 5);
    const std::lock_guard lock(mutex_);
    if (stalled_) return;
    for (auto& [address, pipe] : pipes_) read_some(pipe);
    changed_.notify_all();
  }

  static void read_some(Pipe& pipe) {
    std::array<char, page> buffer{};
    const auto bytes = ::read(pipe.descriptor, buffer.data(), buffer.size());
    if (bytes <= 0) return;
    pipe.unread_end.append(buffer.data(), static_cast<std::size_t>(bytes));
    std::size_t from = 0;
    for (auto end = pipe.unread_end.find('\n'); end != std::string::npos;
         end = pipe.unread_end.find('\n', from)) {
      if (auto event = event_of(pipe.unread_end.substr(from, end - from))) {
        pipe.arrived.push_back(std::move(*event));
      }
      from = end + 1;
    }
    pipe.unread_end.erase(0, from);
  }

  std::filesystem::path folder_;
  std::mutex reading_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Pipe> pipes_;
  bool stalled_ = false;
  std::jthread reader_;
};

INSTANTIATE_TEST_SUITE_P(Pipe, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "Pipe", [] { return std::make_unique<PipeSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
