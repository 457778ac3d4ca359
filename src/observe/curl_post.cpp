#include "observe/curl_post.hpp"

#include "core/curl_bounds.hpp"
#include "core/curl_retry_after.hpp"
#include "observe/otlp_json.hpp"

#include <curl/curl.h>

#include <array>
#include <new>
#include <string_view>
#include <utility>

namespace sagabox {
namespace {

/// Answers are short; the rest of a longer one is not read.
constexpr std::size_t answer_bytes_max = 64UL * 1024;
constexpr std::size_t path_absent = std::string::npos;

struct FreeEasy {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

std::string url_of(const std::string& endpoint) {
  const auto host = endpoint.find("://") + 3;
  const auto path = endpoint.find('/', host);
  if (path == path_absent) return endpoint + "/v1/traces";
  return path + 1 == endpoint.size() ? endpoint + "v1/traces" : endpoint;
}

bool may_work_later(long status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

class CurlPost final : public SpanPost {
 public:
  explicit CurlPost(const OtlpOptions& options)
      : clock_(*options.clock), url_(url_of(options.endpoint)), easy_(curl_easy_init()) {
    if (!easy_) throw std::bad_alloc();
    curl_bounds(easy_.get(), options.ca_file);
    add_header("Content-Type: application/json");
    add_header("Expect:");  // avoids the round trip of Expect: 100-continue
    if (!options.authorization.empty()) add_header("Authorization: " + options.authorization);
    for (const auto& [name, value] : options.headers) add_header(name + ": " + value);
    curl_easy_setopt(easy_.get(), CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, headers_.get());
    set_functions();
  }

  PostAnswer post(const std::string& body, const std::function<bool()>& gives_up) override {
    auto* const easy = easy_.get();
    gives_up_ = &gives_up;
    answer_.clear();
    retry_after_.clear();
    error_.front() = '\0';
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
    const auto code = curl_easy_perform(easy);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) return {.kind = PostAnswer::Kind::later, .error = why(code)};
    if (status < 300) return {.rejected = otlp_rejected(answer_)};
    auto error = std::to_string(status) + " from the collector";
    if (!may_work_later(status)) {
      return {.kind = PostAnswer::Kind::refused, .error = std::move(error)};
    }
    return {.kind = PostAnswer::Kind::later,
            .error = std::move(error),
            .retry_after = asked_wait(retry_after_, clock_.wall_now())};
  }

 private:
  void add_header(const std::string& line) {
    auto* const longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)headers_.release();
    headers_.reset(longer);
  }

  void set_functions() {
    using Write = std::size_t (*)(char*, std::size_t, std::size_t, void*);
    using Progress = int (*)(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
    auto* const easy = easy_.get();
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION,
                     Write([](char* text, std::size_t size, std::size_t count, void* self) {
                       return static_cast<CurlPost*>(self)->content({text, size * count});
                     }));
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION,
                     Write([](char* text, std::size_t size, std::size_t count, void* self) {
                       static_cast<CurlPost*>(self)->header({text, size * count});
                       return size * count;
                     }));
    // Called about once a second, even if the collector does not respond.
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION,
                     Progress([](void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
                       return (*static_cast<CurlPost*>(self)->gives_up_)() ? 1 : 0;
                     }));
  }

  std::size_t content(std::string_view text) {
    if (answer_.size() + text.size() > answer_bytes_max) return 0;
    answer_ += text;
    return text.size();
  }

  void header(std::string_view line) {
    constexpr std::string_view name = "retry-after:";
    if (line.size() < name.size()) return;
    if (curl_strnequal(line.data(), name.data(), name.size()) == 0) return;
    retry_after_ = line.substr(name.size());
  }

  [[nodiscard]] std::string why(CURLcode code) const {
    if (code == CURLE_ABORTED_BY_CALLBACK) return "no answer from the collector in time";
    return error_.front() == '\0' ? curl_easy_strerror(code) : error_.data();
  }

  const Clock& clock_;
  const std::string url_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  const std::function<bool()>* gives_up_ = nullptr;
  std::string answer_;
  std::string retry_after_;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace

Result<std::unique_ptr<SpanPost>> open_curl_post(const OtlpOptions& options) {
  if (!curl_ready()) return Error{Code::unknown_internal, "libcurl could not be initialised"};
  return std::unique_ptr<SpanPost>(std::make_unique<CurlPost>(options));
}

}  // namespace sagabox
