#include "bench/baselines/transports/http_loop.hpp"

#include "bench/baselines/transports/attributes.hpp"
#include "bench/measure.hpp"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

namespace sagabox::bench::baselines {
namespace {

constexpr int poll_milliseconds = 1000;

std::size_t forget(char*, std::size_t size, std::size_t count, void*) { return size * count; }

/// One message after another on one easy handle.
struct Transfer {
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy{curl_easy_init(), curl_easy_cleanup};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers{nullptr, curl_slist_free_all};
  spi::Parcel parcel;

  void add_header(const std::string& line) {
    auto* const longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    [[maybe_unused]] auto* const before = headers.release();
    headers.reset(longer);
  }
};

class Loop {
 public:
  explicit Loop(const HttpLoop& loop) : loop_(loop) {
    if (loop.waiting == HttpWaiting::epoll) watch_sockets();
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(loop.connections));
    transfers_.reserve(loop.connections);
    for (std::uint32_t i = 0; i < loop.connections; ++i) {
      auto& transfer = *transfers_.emplace_back(std::make_unique<Transfer>());
      auto* const easy = transfer.easy.get();
      curl_easy_setopt(easy, CURLOPT_URL, loop.url.c_str());
      curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, forget);
      curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(easy, CURLOPT_PROXY, "");
    }
  }
  ~Loop() { close(epoll_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  double run() {
    const auto begin = Steady::now();
    for (const auto& transfer : transfers_) next(*transfer);
    while (done_ < loop_.messages) {
      if (loop_.waiting == HttpWaiting::epoll) {
        wait_with_epoll();
      } else {
        curl_multi_poll(multi_.get(), nullptr, 0, poll_milliseconds, nullptr);
        curl_multi_perform(multi_.get(), &running_);
      }
      collect();
    }
    return loop_.messages / seconds_since(begin);
  }

 private:
  void watch_sockets() {
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, on_timer);
  }

  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void* known) {
    auto& loop = *static_cast<Loop*>(self);
    epoll_event event{};
    event.data.fd = socket;
    if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, socket, nullptr);
    } else {
      epoll_ctl(loop.epoll_, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
      curl_multi_assign(loop.multi_.get(), socket, &loop);
    }
    return 0;
  }

  static int on_timer(CURLM*, long after, void* self) {
    static_cast<Loop*>(self)->timeout_ = after;
    return 0;
  }

  void wait_with_epoll() {
    std::array<epoll_event, 256> events{};
    const auto timeout = timeout_ < 0 ? poll_milliseconds : static_cast<int>(timeout_);
    const auto count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      int bits = 0;
      if ((event.events & (EPOLLIN | EPOLLHUP)) != 0) bits |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) bits |= CURL_CSELECT_OUT;
      if ((event.events & EPOLLERR) != 0) bits |= CURL_CSELECT_ERR;
      curl_multi_socket_action(multi_.get(), event.data.fd, bits, &running_);
    }
    if (count == 0 || timeout == 0) {
      curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running_);
    }
  }

  void collect() {
    int left = 0;
    while (const auto* const message = curl_multi_info_read(multi_.get(), &left)) {
      auto* const easy = message->easy_handle;
      long status = 0;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
      if (message->data.result != CURLE_OK || status / 100 != 2) {
        throw std::runtime_error("the baseline did not deliver everything");
      }
      curl_multi_remove_handle(multi_.get(), easy);
      ++done_;
      next(*transfer);
    }
  }

  void next(Transfer& transfer) {
    if (begun_ == loop_.messages) return;
    transfer.parcel = loop_.parcel(begun_++);
    transfer.headers.reset();
    transfer.add_header("Content-Type: " + transfer.parcel.message->content_type());
    for_each_attribute(transfer.parcel, "ce-",
                       [&](const std::string& name, const std::string& value) {
                         transfer.add_header(name + ": " + value);
                       });
    if (loop_.more_headers) {
      for (const auto& line : loop_.more_headers(transfer.parcel)) transfer.add_header(line);
    }
    const auto body = transfer.parcel.message->payload().view();
    auto* const easy = transfer.easy.get();
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
    curl_multi_add_handle(multi_.get(), easy);
  }

  const HttpLoop& loop_;
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_{curl_multi_init(),
                                                               curl_multi_cleanup};
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::uint32_t begun_ = 0;
  std::uint32_t done_ = 0;
  long timeout_ = -1;
  int running_ = 0;
};

}  // namespace

double http_loop(const HttpLoop& loop) { return Loop(loop).run(); }

}  // namespace sagabox::bench::baselines
