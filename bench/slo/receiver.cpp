#include "bench/slo/receiver.hpp"

#include <charconv>
#include <string_view>

namespace sagabox::bench::slo {
namespace {

/// Says that it failed at this one. A 503 would say that it wants no others either.
constexpr unsigned failed = 500;

/// The payloads of the benchmarks say their number.
std::uint64_t number_of(std::string_view payload) {
  const auto begin = payload.find_first_of("0123456789");
  std::uint64_t number = 0;
  if (begin != std::string_view::npos) {
    std::from_chars(payload.data() + begin, payload.data() + payload.size(), number);
  }
  return number;
}

}  // namespace

Receiver::Receiver(std::uint64_t messages)
    : seen_(messages),
      server_([this](const testing::HttpRequest& request) { return answer(request); }) {}

testing::HttpReply Receiver::answer(const testing::HttpRequest& request) {
  const auto now = Steady::now();
  const auto number = number_of(request.body);
  const std::scoped_lock lock(mutex_);
  if (number >= seen_.size()) return {.status = 400};
  auto& seen = seen_[number];
  if (is_refused(number) && !seen.refused) {
    seen.refused = true;
    return {.status = failed};
  }
  if (seen.taken == Steady::time_point{}) seen.taken = now;
  return {};
}

std::vector<Receiver::Seen> Receiver::all() const {
  const std::scoped_lock lock(mutex_);
  return seen_;
}

}  // namespace sagabox::bench::slo
