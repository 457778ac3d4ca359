#include "admin/hub_view.hpp"

#include "admin/checks.hpp"
#include "admin/hub_checks.hpp"
#include "core/text.hpp"
#include "delivery/subscription.hpp"

#include <charconv>

namespace sagabox::admin {

EventView event_view(const HubEvent& event, Admin::PayloadToo payload) {
  EventView view{.id = event.id,
                 .source = event.source,
                 .external_id = event.external_id,
                 .sequence = event.sequence,
                 .published_at = event.published_at};
  if (!event.message) return view;
  const auto& message = *event.message;
  view.tenant = message.tenant();
  view.type = message.topic();
  view.key = message.key();
  view.occurred_at = message.occurred_at();
  view.content_type = message.content_type();
  view.correlation_id = message.trace().correlation_id;
  view.digest = message.digest();
  view.payload_bytes = event.payload_bytes.value_or(message.payload().size());
  if (payload == Admin::PayloadToo::yes) {
    view.headers = message.headers();
    view.payload = message.payload();
  }
  return view;
}

SubscriptionView subscription_view(const SubscriptionRecord& record, Admin::PayloadToo payload) {
  SubscriptionView view{.problem = delivery::Subscription(record).problem};
  view.record = payload == Admin::PayloadToo::yes ? record : masked(record);
  return view;
}

Result<std::optional<Sequence>> sequence_cursor(std::string_view text) {
  if (text.empty()) return std::optional<Sequence>();
  Sequence place{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place.value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole) return std::optional(place);
  return wrong("cursor: " + quoted(text) + " is not one; give `next` of the page before");
}

Status check_times(std::string_view field, const std::optional<WallTime>& from,
                   const std::optional<WallTime>& to) {
  if (!from || !to || *from < *to) return {};
  return wrong(std::string(field) + ": nothing lies between " + utc_text(*from) + " and " +
               utc_text(*to));
}

Status check_hub_note(const std::string& note) {
  if (note.empty()) return {};
  return check_text("note", note, Admin::note_length_max);
}

}  // namespace sagabox::admin
