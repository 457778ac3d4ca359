#include "simulation/script.hpp"

#include <stdexcept>

namespace sagabox::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// SplitMix64: a number for each question.
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  auto x = a * 0x9E3779B97F4A7C15ULL + b * 0xBF58476D1CE4E5B9ULL + c * 0x94D049BB133111EBULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

Temper Script::temper(std::uint64_t message) const {
  const auto drawn = mix(settings_.seed, message, 1) % 10'000;
  if (drawn < settings_.killers) return Temper::killer;
  const auto kind = mix(settings_.seed, message, 2) % 100;
  if (kind < 65) return Temper::good;
  if (kind < 82) return Temper::flaky;
  if (kind < 86) return Temper::bad;
  if (kind < 97) return Temper::slow;
  return Temper::unroutable;
}

Refusal Script::refusal(std::uint64_t message, bool has_key) const {
  const auto drawn = mix(settings_.seed, message, 3);
  // A killer must have its attempts written.
  if (drawn % 10'000 >= settings_.refusals || temper(message) == Temper::killer) {
    return Refusal::none;
  }
  return drawn / 10'000 % 2 == 0 || has_key ? Refusal::result : Refusal::every_one;
}

Act Script::act(std::uint64_t message, std::uint32_t call) const {
  const auto drawn = mix(settings_.seed, message, 100 + call);
  const auto quick = Duration{microseconds(10 + drawn % 5'000)};
  const auto deadline = settings_.options.dispatch_timeout;
  using Kind = Act::Kind;
  switch (temper(message)) {
    case Temper::good:
    case Temper::unroutable:
      return {Kind::done, quick};
    case Temper::killer:
      return {Kind::kill, quick};
    case Temper::slow: {
      const bool overdue = drawn / 7 % 3 == 0;
      const auto share = static_cast<std::int64_t>(drawn / 21 % 100);
      return {drawn / 2'100 % 3 == 0 ? Kind::retry : Kind::done,
              overdue ? deadline + deadline * share / 50 : deadline * share / 100};
    }
    case Temper::bad:
    case Temper::flaky:
      break;
  }
  const auto kind = drawn / 7 % 100;
  if (temper(message) == Temper::flaky && kind < 40) return {Kind::done, quick};
  if (kind < 60) return {Kind::raise, quick};
  if (kind < 75) return {Kind::retry, quick};
  if (kind < 85) return {Kind::later, quick};
  // A handler that never counts its attempts must end by itself.
  if (kind < 95 && call < 6) return {Kind::later_unspent, quick};
  if (kind < 97) return {Kind::reject, quick};
  return {Kind::retry, deadline + deadline / 3};
}

Outcome Script::answer(const Act& act) {
  switch (act.kind) {
    case Act::Kind::raise:
      throw std::runtime_error("as the script says");
    case Act::Kind::retry:
      return retry("as the script says");
    case Act::Kind::later:
      return retry_after(milliseconds(30));
    case Act::Kind::later_unspent:
      return retry_after(milliseconds(20), Attempt::not_spent);
    case Act::Kind::reject:
      return reject("as the script says");
    case Act::Kind::done:
    case Act::Kind::kill:
      break;
  }
  return done();
}

}  // namespace sagabox::simulation
