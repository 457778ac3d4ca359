#include "delivery/notices.hpp"

#include "core/masked_url.hpp"
#include "delivery/json_text.hpp"
#include "spi/hub_rules.hpp"

#include <sagabox/message.hpp>

#include <string>
#include <utility>

namespace sagabox::delivery {
Result<HubEvent> subscription_disabled(const SubscriptionRecord& record, UlidSource& ids,
                                       const Clock& clock) {
  const auto id = ids.next<EventId>();
  const auto target = masked_target(record.target);
  NewMessage draft{.topic = Topic(subscription_disabled_type),
                   .key = record.id.str(),
                   .payload = sagabox::json(json_object({{"subscription", record.id.view()},
                                                         {"name", record.name},
                                                         {"target", target},
                                                         {"reason", record.reason}})),
                   .tenant = record.tenant,
                   .occurred_at = record.changed_at,
                   .id = id.str()};
  auto message = Message::build_shared(std::move(draft), {}, ids, clock);
  if (!message.ok()) return message.error();
  return HubEvent{
      .id = id,
      .message = std::move(message).value(),
      .source = std::string(spi::own_source),
      .external_id = "disabled/" + record.id.str() + '/' + std::to_string(record.version)};
}

}  // namespace sagabox::delivery
