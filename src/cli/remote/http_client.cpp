#include "cli/remote/http_client.hpp"

#ifdef SAGABOX_HTTP

#include "transports/http/bounds.hpp"

#include <sagabox/random.hpp>

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace sagabox::cli {
namespace {

using Kind = HttpRequest::Kind;

/// A page of 1000 messages needs a few MiB.
constexpr std::size_t answer_bytes_max = 64UL * 1024 * 1024;
constexpr Duration connect_max = std::chrono::seconds(10);

std::string drawn_key() {
  auto& random = system_random();
  return fmt::format("cli-{:016x}{:016x}", random.next(), random.next());
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(HttpOptions options) : options_(std::move(options)), easy_(curl_easy_init()) {
    if (!easy_) throw std::bad_alloc();
    auto* const easy = easy_.get();
    http::set_bounds(easy, {.ca_file = options_.ca_file,
                            .connect_max = std::min(connect_max, options_.timeout)});
    http::set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    http::set(easy, CURLOPT_ERRORBUFFER, error_.data());
    const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(options_.timeout).count();
    http::set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout));
    using Write = std::size_t (*)(char*, std::size_t, std::size_t, void*);
    http::set(easy, CURLOPT_WRITEDATA, this);
    http::set(easy, CURLOPT_WRITEFUNCTION,
              Write([](char* bytes, std::size_t size, std::size_t count, void* self) {
                return static_cast<CurlClient*>(self)->content({bytes, size * count});
              }));
    add_header("Accept: application/json");
    add_header("Content-Type: application/json");
    add_header("Expect:");  // the body is sent at once
    if (has_key()) add_header("Authorization: Bearer " + options_.key);
    http::set(easy, CURLOPT_HTTPHEADER, headers_.get());
  }

  [[nodiscard]] const std::string& url() const override { return options_.url; }
  [[nodiscard]] bool has_key() const override { return !options_.key.empty(); }

  Result<HttpAnswer> ask(const HttpRequest& request) override {
    auto* const easy = easy_.get();
    body_.clear();
    error_.front() = '\0';
    http::set(easy, CURLOPT_URL, (options_.url + request.target).c_str());
    if (request.kind == Kind::get) {
      http::set(easy, CURLOPT_HTTPGET, 1L);
    } else {
      http::set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      http::set(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    }
    const long alone = request.kind == Kind::act ? 1L : 0L;
    http::set(easy, CURLOPT_FRESH_CONNECT, alone);
    http::set(easy, CURLOPT_FORBID_REUSE, alone);
    // Daemons may require an idempotency key. Each act has another one, so that equal acts are each
    // carried out. Requests about sagas have an id of their own.
    const bool keyed = request.kind == Kind::act && !request.target.starts_with("/v1/sagas");
    auto key = keyed ? "Idempotency-Key: " + drawn_key() : std::string();
    curl_slist with_key{.data = key.data(), .next = headers_.get()};
    http::set(easy, CURLOPT_HTTPHEADER, key.empty() ? headers_.get() : &with_key);
    const auto code = curl_easy_perform(easy);
    if (code != CURLE_OK) return failure(request.kind, code);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    const char* type = nullptr;
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    return HttpAnswer{.status = static_cast<unsigned>(status),
                      .content_type = type == nullptr ? "" : type,
                      .body = std::move(body_)};
  }

 private:
  struct EasyCleanup {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  };
  struct ListCleanup {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };

  void add_header(const std::string& line) {
    auto* const longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)headers_.release();
    headers_.reset(longer);
  }

  std::size_t content(std::string_view bytes) {
    if (body_.size() + bytes.size() > answer_bytes_max) return 0;
    body_ += bytes;
    return bytes.size();
  }

  Error failure(Kind kind, CURLcode code) const {
    auto* const easy = easy_.get();
    long sent = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    const auto why = code == CURLE_WRITE_ERROR ? std::string("its answer is larger than 64 MiB")
                                               : http::what_libcurl_says(easy, code, error_.data());
    if (sent > 0 && kind == Kind::act) {
      return {Code::storage_in_doubt, "the answer of " + url() + " was lost: " + why +
                                          "; it may have happened: look before you do it again"};
    }
    if (sent > 0) {
      return {code == CURLE_OPERATION_TIMEDOUT ? Code::tx_timeout : Code::provider_unavailable,
              url() + " gave no answer: " + why +
                  (code == CURLE_OPERATION_TIMEDOUT ? "; --timeout waits longer" : "")};
    }
    std::string cure = "; is the daemon running there?";
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
      cure = "; --ca FILE names who signed its certificate";
    } else if (code == CURLE_SSL_CONNECT_ERROR) {
      cure = "; does it speak TLS? else write http://";
    }
    return {Code::provider_unavailable, "cannot reach " + url() + ": " + why + cure};
  }

  HttpOptions options_;
  std::unique_ptr<CURL, EasyCleanup> easy_;
  std::unique_ptr<curl_slist, ListCleanup> headers_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::string body_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> open_http(HttpOptions options) {
  static const auto initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) {
    return Error{Code::config_invalid,
                 "libcurl cannot be used here: " + std::string(curl_easy_strerror(initialised))};
  }
  return std::unique_ptr<HttpClient>(std::make_unique<CurlClient>(std::move(options)));
}

}  // namespace sagabox::cli

#else

namespace sagabox::cli {

Result<std::unique_ptr<HttpClient>> open_http(HttpOptions) {
  return Error{Code::config_invalid,
               "this build has no libcurl and cannot ask a daemon; say --store URL, or build it "
               "with libcurl4-openssl-dev installed"};
}

}  // namespace sagabox::cli

#endif
