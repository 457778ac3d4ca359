#include "cli/exit_codes.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/hub_texts.hpp"
#include "cli/views/hub_json.hpp"
#include "cli/views/hub_view.hpp"

#include <fmt/format.h>

#include <utility>

namespace sagabox::cli {

int run_event_publish(const EventPublishArguments& arguments) {
  if (arguments.payload.empty() == arguments.payload_file.empty()) {
    throw WrongUse(
        "give the payload as JSON (--payload TEXT, - for standard input), or a file's "
        "bytes (--payload-file FILE)");
  }
  auto order = arguments.order;
  order.payload = arguments.payload_file.empty()
                      ? json(hub_json_text("--payload", arguments.payload))
                      : bytes(hub_file(arguments.payload_file));
  order.headers = hub_headers(arguments.headers);
  Session session(arguments);
  const auto published = right_use(session.operations().hub().publish(order));
  if (session.json()) {
    session.out().print(hub_json(published));
    return exit_fine;
  }
  session.out().print(fmt::format("{} {}{}", order.type, published.id.view(),
                                  published.duplicate ? ": it was there already, nothing was "
                                                        "written"
                                                      : ""));
  return exit_fine;
}

int run_event_list(const EventListArguments& arguments) {
  auto query = arguments.query;
  const auto now = system_clock().wall_now();
  if (arguments.since) query.filter.from = arguments.since->by(now);
  if (arguments.until) query.filter.to = arguments.until->by(now);
  Session session(arguments);
  const auto page = right_use(session.operations().hub().events(query));
  if (session.json()) {
    session.out().print(hub_json(page));
    return exit_fine;
  }
  session.print(event_list(page.rows, now));
  say_more(session, page.next);
  return exit_fine;
}

int run_event_show(const EventShowArguments& arguments) {
  const auto payload = arguments.payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no;
  Session session(arguments);
  const auto event = session.operations().hub().event(arguments.id, payload).value();
  if (!event) throw nothing_of(session, "event", arguments.id.view());
  if (session.json()) {
    session.out().print(hub_json(*event));
  } else {
    session.print(event_details(*event));
  }
  return exit_fine;
}

}  // namespace sagabox::cli
