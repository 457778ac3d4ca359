#include "cli/exit_codes.hpp"
#include "cli/verbs/hub_arguments.hpp"

#include <utility>

namespace sagabox::cli {
namespace {

/// Refuses filters that only messages have.
void check_delivery_filter(const MessagesArguments& messages) {
  if (messages.key || messages.aggregate_type || !messages.table.empty()) {
    throw WrongUse(
        "dead deliveries are narrowed by --tenant, --topic (the event's type), --code, --since and "
        "--until; sagabox delivery requeue knows --subscription, too");
  }
}

spi::DeliveryFilter dead_filter(const MessagesArguments& messages) {
  check_delivery_filter(messages);
  return {.tenant = messages.tenant,
          .state = DeliveryState::dead,
          .type = messages.topic,
          .code = messages.code};
}

}  // namespace

int run_dead_deliveries(const ListArguments& arguments) {
  DeliveryListArguments list;
  static_cast<OperatorArguments&>(list) = arguments;
  list.query.filter = dead_filter(arguments.messages);
  list.query.rows_max = arguments.rows_max;
  list.query.cursor = arguments.cursor;
  // The age counts from their end, as for messages.
  const auto now = system_clock().wall_now();
  if (arguments.messages.since) list.query.ended_from = arguments.messages.since->by(now);
  if (arguments.messages.until) list.query.ended_to = arguments.messages.until->by(now);
  return run_delivery_list(list);
}

int run_dead_delivery_show(const MessageArguments& arguments) {
  DeliveryShowArguments show;
  static_cast<OperatorArguments&>(show) = arguments;
  show.id = DeliveryId::parse(arguments.id.view()).value();
  show.payload = arguments.payload;
  return run_delivery_show(show);
}

int run_replay_deliveries(const MoveArguments& arguments) {
  if (arguments.detach || arguments.as_new || arguments.into_compensation) {
    throw WrongUse("--detach, --as-new and --into-compensation are not for deliveries");
  }
  DeliveryRequeueArguments requeue;
  static_cast<OperatorArguments&>(requeue) = arguments;
  requeue.act = arguments.act;
  for (const auto& id : arguments.ids) {
    requeue.ids.push_back(DeliveryId::parse(id.view()).value());
  }
  requeue.filter = dead_filter(arguments.messages);
  requeue.since = arguments.messages.since;
  requeue.until = arguments.messages.until;
  requeue.all = arguments.all;
  requeue.rate_max = arguments.rate_max;
  requeue.note = arguments.note;
  return run_delivery_requeue(requeue);
}

}  // namespace sagabox::cli
