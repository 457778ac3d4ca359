#include "transports/http/probe.hpp"

#include "core/curl_bounds.hpp"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace sagabox::http {
namespace {

struct FreeEasy {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

List list_of(const std::vector<std::string>& lines) {
  List list;
  for (const auto& line : lines) {
    auto* const longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)list.release();
    list.reset(longer);
  }
  return list;
}

/// "https://hooks.example.com:443" → "hooks.example.com"
std::string host_of(const std::string& endpoint) {
  const auto begin = endpoint.find("://") + 3;
  return endpoint.substr(begin, endpoint.rfind(':') - begin);
}

/// A connection attempt to one endpoint.
class Call {
 public:
  Call(const std::string& endpoint, const Probe& probe, curl_slist* resolve)
      : endpoint_(endpoint),
        host_(host_of(endpoint)),
        guard_(probe.guard),
        easy_(curl_easy_init()) {
    if (!easy_) throw std::bad_alloc();
    auto* const easy = easy_.get();
    curl_bounds(easy, probe.ca_file);
    curl_easy_setopt(easy, CURLOPT_URL, endpoint_.c_str());
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
    curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
    curl_easy_setopt(easy, CURLOPT_RESOLVE, resolve);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
    using OpenSocket = curl_socket_t (*)(void*, curlsocktype, curl_sockaddr*);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION,
                     OpenSocket([](void* self, curlsocktype, curl_sockaddr* address) {
                       return static_cast<Call*>(self)->open_socket(*address);
                     }));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] CURL* easy() const noexcept { return easy_.get(); }
  void ended(CURLcode code) { problem_ = code == CURLE_OK ? std::string() : why(code); }
  /// Empty if it was reached.
  [[nodiscard]] std::string problem() const {
    return problem_.empty() ? std::string() : endpoint_ + ": " + problem_;
  }

 private:
  curl_socket_t open_socket(const curl_sockaddr& address) {
    const auto ip = IpAddress::of(address.addr, address.addrlen);
    refusal_ = ip ? guard_.refusal({host_, *ip, endpoint_.starts_with("https:")})
                  : "its address is not one of the internet";
    if (!refusal_.empty()) return CURL_SOCKET_BAD;
    return socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  }
  [[nodiscard]] std::string why(CURLcode code) const {
    if (!refusal_.empty()) return refusal_;
    return error_.front() == '\0' ? curl_easy_strerror(code) : error_.data();
  }

  const std::string endpoint_;
  const std::string host_;
  const AddressGuard& guard_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::string refusal_;
  std::string problem_ = "no connection in time";
};

void collect(CURLM* multi) {
  int left = 0;
  while (const auto* const message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* call = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
    reinterpret_cast<Call*>(call)->ended(message->data.result);
  }
}

void drive(CURLM* multi, const Probe& probe) {
  constexpr std::int64_t wait_max = 1000;
  for (int running = 1; running > 0;) {
    curl_multi_perform(multi, &running);
    collect(multi);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(probe.deadline - probe.clock.boot_now());
    if (running == 0 || left.count() <= 0) return;
    const auto wait = static_cast<int>(std::min<std::int64_t>(left.count(), wait_max));
    curl_multi_poll(multi, nullptr, 0, wait, nullptr);
  }
}

}  // namespace

std::vector<std::string> unreachable(const std::vector<std::string>& endpoints,
                                     const Probe& probe) {
  const auto resolve = list_of(probe.resolve);
  std::vector<std::unique_ptr<Call>> calls;
  const std::unique_ptr<CURLM, FreeMulti> multi(curl_multi_init());
  if (!multi) throw std::bad_alloc();
  for (const auto& endpoint : endpoints) {
    calls.push_back(std::make_unique<Call>(endpoint, probe, resolve.get()));
    curl_multi_add_handle(multi.get(), calls.back()->easy());
  }
  drive(multi.get(), probe);
  std::vector<std::string> found;
  for (const auto& call : calls) {
    if (auto problem = call->problem(); !problem.empty()) found.push_back(std::move(problem));
    curl_multi_remove_handle(multi.get(), call->easy());
  }
  return found;
}

}  // namespace sagabox::http
