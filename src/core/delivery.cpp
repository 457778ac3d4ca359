#include <sagabox/delivery.hpp>

#include <algorithm>
#include <utility>

namespace sagabox {

Outcome retry(std::string why) { return {.kind = Outcome::Kind::retry, .error = std::move(why)}; }

Outcome retry_after(Duration delay, Attempt attempt) {
  return {.kind = Outcome::Kind::retry,
          .delay = std::max(delay, Duration::zero()),
          .spends_attempt = attempt == Attempt::spent,
          .error = "the handler asked to be called again later"};
}

Outcome reject(std::string why) {
  return {.kind = Outcome::Kind::reject, .code = Code::provider_rejected, .error = std::move(why)};
}

}  // namespace sagabox
