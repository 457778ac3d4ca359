#include "delivery/filter.hpp"
#include "delivery/subscription.hpp"
#include "fuzz/target.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <memory>
#include <string>

namespace sagabox::fuzz {
namespace {

/// An event with this payload, as JSON if it is.
HubEvent event_with(std::string_view payload) {
  static const testing::FakeClock clock;
  static const auto random = seeded_random(1);
  static UlidSource ids(clock, *random);
  const auto form = json_problem(payload).empty() ? PayloadForm::json : PayloadForm::bytes;
  auto message = Message::build_shared(
      {.topic = "a.b", .key = "k", .payload = Payload::copy_of(form, payload)}, {}, ids, clock);
  must(message.ok(), "a payload within the limit is a message");
  return {.id = ids.next<EventId>(), .message = std::move(message).value(), .source = "s"};
}

}  // namespace
}  // namespace sagabox::fuzz

/// A filter on the first line, a payload in the rest. The same text as settings of a subscription.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sagabox;
  auto rest = fuzz::text_of(data, size);
  if (rest.size() > 65'536) return 0;
  const auto text = fuzz::next_line(rest);
  const auto settings = delivery::read_settings(text);
  fuzz::must(settings.ok() || !settings.error().message.empty(), "a refusal says why");
  const auto filter = delivery::Filter::parse(text);
  if (!filter.ok()) {
    fuzz::must(filter.error().message.starts_with("filter"), "a refusal says where");
    return 0;
  }
  fuzz::must(json_problem(text).empty(), "only JSON is a filter");
  fuzz::must(!filter->wants_all(), "a filter has a condition");
  const auto event = fuzz::event_with(rest);
  delivery::FilteredEvent filtered(event);
  const bool wanted = filter->wants(filtered);
  fuzz::must(filter->wants(filtered) == wanted, "the same event is wanted again");
  // Its denial is one level deeper, and a few bytes longer.
  const auto denied = delivery::Filter::parse(R"({"not": )" + std::string(text) + "}");
  fuzz::must(!denied.ok() || denied->wants(filtered) != wanted, "not is the opposite");
  return 0;
}
