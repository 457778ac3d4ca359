#include "cli/verbs/show.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <string_view>

namespace sagabox::cli {
namespace {

/// Above this the set is cleared: a message may then be refused twice.
constexpr std::size_t refused_max = 10'000;
/// Larger ages are not shown: ids made by callers need not contain the time.
constexpr Duration shown_age_max = std::chrono::hours(1);

/// The age by a ULID's timestamp: " in 0.3 ms"; empty if the id cannot contain one.
std::string since_made(std::string_view id, WallTime now) {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  constexpr std::size_t time_digits = 10;
  if (id.size() != 26) return {};
  std::int64_t millis = 0;
  for (const char c : id.substr(0, time_digits)) {
    const auto digit = digits.find(c);
    if (digit == std::string_view::npos) return {};
    millis = millis * 32 + static_cast<std::int64_t>(digit);
  }
  const Duration age = now - WallTime(std::chrono::milliseconds(millis));
  if (age < Duration{} || age > shown_age_max) return {};
  return fmt::format(" in {:.1f} ms", std::chrono::duration<double, std::milli>(age).count());
}

}  // namespace

bool Show::refuses(const Delivery& delivery) {
  const auto parts = "." + delivery.topic() + ".";
  if (parts.find(".refused.") == std::string::npos) return false;
  if (refused_.size() >= refused_max) refused_.clear();
  return refused_.insert(delivery.id().str()).second;
}

void Show::say(const Line& line) {
  const std::scoped_lock lock(mutex_);
  terminal_.print(line);
}

Outcome Show::operator()(const Delivery& delivery) {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.wall_now();
  const auto id = delivery.id().str();
  const bool refused = refuses(delivery);
  terminal_.print(Line()
                      .add(utc_text(now).substr(11, 8) + " ", Style::faint)
                      .add(refused ? "refused" : "delivered", refused ? Style::bad : Style::good)
                      .add(fmt::format(" {} {} attempt {}{}", delivery.topic(), id,
                                       delivery.attempt(), since_made(id, now))));
  if (refused) return reject("refused once, as its topic asks for; replay it and it is taken");
  return done();
}

}  // namespace sagabox::cli
