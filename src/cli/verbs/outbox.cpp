#include "cli/exit_codes.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/hub_json.hpp"
#include "cli/views/message_view.hpp"
#include "cli/views/view_json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace sagabox::cli {
namespace {

[[noreturn]] void not_there(Session& session, const MessageId& id, const std::string& table) {
  throw Failure({Code::request_not_found,
                 fmt::format("there is no message {} in {}{}; done ones are kept only for the "
                             "retention",
                             id.view(), table.empty() ? "any table of " : "table " + table + " of ",
                             session.operations().name())});
}

TableName found_table(Session& session, const MessageArguments& arguments) {
  const auto table = session.table_of(arguments.id, arguments.table, arguments.tenant);
  if (!table) not_there(session, arguments.id, arguments.table);
  return *table;
}

void print_list(Session& session, const TableName& table, const MessagePage& page,
                MessageState state) {
  if (session.json()) {
    session.out().print(messages_json(table, page));
    return;
  }
  if (page.rows.empty()) {
    session.out().print(Line().add(fmt::format("no {} messages", state_name(state)), Style::faint));
    return;
  }
  session.print(message_list(page.rows, session.operations().now(table).value()));
  if (!page.next.empty()) {
    session.out().print(
        Line().add("there are more: --after " + page.next + ", or --limit", Style::faint));
  }
}

std::string read_all(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Payload payload_of(const EnqueueArguments& arguments) {
  if (!arguments.payload_file.empty()) {
    std::ifstream file(arguments.payload_file, std::ios::binary);
    if (!file) throw WrongUse("cannot read " + arguments.payload_file);
    return bytes(read_all(file));
  }
  return json(arguments.payload == "-" ? read_all(std::cin) : arguments.payload);
}

Headers headers_of(const EnqueueArguments& arguments) {
  Headers headers;
  for (const auto& text : arguments.headers) {
    const auto colon = text.find(':');
    if (colon == std::string::npos || colon == 0) {
      throw WrongUse("header \"" + text + "\": write NAME:VALUE");
    }
    auto value = text.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    headers.emplace_back(text.substr(0, colon), std::move(value));
  }
  return headers;
}

}  // namespace

bool MessagesArguments::narrowed() const noexcept {
  return tenant || topic || aggregate_type || key || code || since || until || retrying;
}

MessageFilter MessagesArguments::filter(WallTime now) const {
  MessageFilter filter{.tenant = tenant,
                       .topic = topic,
                       .aggregate_type = aggregate_type,
                       .key = key,
                       .code = code,
                       .retrying = retrying};
  if (since) filter.from = since->by(now);
  if (until) filter.until = until->by(now);
  return filter;
}

int run_list(const ListArguments& arguments) {
  Session session(arguments);
  list_messages(session, arguments);
  return exit_fine;
}

void list_messages(Session& session, const ListArguments& arguments) {
  auto& operations = session.operations();
  const auto table = session.table(arguments.messages.table);
  const auto now = operations.now(table).value();
  const auto page = operations
                        .list(table, {.state = arguments.state,
                                      .filter = arguments.messages.filter(now),
                                      .rows_max = arguments.rows_max,
                                      .cursor = arguments.cursor})
                        .value();
  print_list(session, table, page, arguments.state);
}

int run_oldest(const ListArguments& arguments) {
  Session session(arguments);
  auto& operations = session.operations();
  std::optional<std::pair<TableName, MessageRecord>> oldest;
  for (const auto& table : session.tables(arguments.messages.table)) {
    auto page = operations.list(table, {.state = MessageState::pending, .rows_max = 1}).value();
    if (page.rows.empty()) continue;
    if (oldest && oldest->second.written_at <= page.rows.front().written_at) continue;
    oldest.emplace(table, std::move(page.rows.front()));
  }
  if (!oldest) {
    session.out().print(session.json() ? Line("null")
                                       : Line().add("nothing is pending", Style::faint));
    return exit_fine;
  }
  const auto& [table, record] = *oldest;
  const auto explanation = operations.explain(table, record.id, tenant_of(record)).value();
  if (session.json()) {
    session.out().print(explanation_json(table, record.id, explanation));
  } else {
    session.out().print(Line().add(record.id.view(), Style::strong).add(" " + record.topic));
    session.out().print(explanation.text());
  }
  return exit_fine;
}

int run_show(const MessageArguments& arguments) {
  Session session(arguments);
  auto& operations = session.operations();
  const auto table = found_table(session, arguments);
  const auto inspect = [&](std::optional<MessageState> state) {
    return operations
        .inspect(table, arguments.id,
                 arguments.payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no,
                 arguments.tenant, state)
        .value();
  };
  auto record = inspect(arguments.state);
  if (!record && arguments.state == MessageState::dead) {
    record = inspect(MessageState::quarantined);
  }
  if (!record && arguments.state) record = inspect(std::nullopt);
  if (!record) not_there(session, arguments.id, arguments.table);
  if (session.json()) {
    session.out().print(message_json(table, *record));
  } else {
    session.print(message_details(*record, operations.now(table).value()));
  }
  return exit_fine;
}

int run_explain(const MessageArguments& arguments) {
  Session session(arguments);
  if (const auto delivery = explanation_of_delivery(session, arguments.id)) {
    session.out().print(session.json() ? hub_json(*delivery) : delivery->text());
    return exit_fine;
  }
  if (const auto subscription = explanation_of_subscription(session, arguments)) {
    session.out().print(session.json() ? hub_json(*subscription) : subscription->text());
    return exit_fine;
  }
  if (explained_event(session, arguments)) return exit_fine;
  const auto table = found_table(session, arguments);
  const auto explanation =
      session.operations().explain(table, arguments.id, arguments.tenant).value();
  session.out().print(session.json() ? explanation_json(table, arguments.id, explanation)
                                     : explanation.text());
  return exit_fine;
}

int run_enqueue(const EnqueueArguments& arguments) {
  if (arguments.payload.empty() == arguments.payload_file.empty()) {
    throw WrongUse(
        "give the payload as JSON (--payload TEXT, - for standard input), or a file's "
        "bytes (--payload-file FILE)");
  }
  NewMessage message = arguments.message;
  message.payload = payload_of(arguments);
  message.headers = headers_of(arguments);
  Session session(arguments);
  const auto table = session.table(arguments.table);
  const auto topic = message.topic.str();
  const auto written = session.operations().enqueue(table, std::move(message));
  if (!written.ok() && written.error().code == Code::schema_validation_failed) {
    throw WrongUse(written.error().text());
  }
  if (session.json()) {
    session.out().print(written_json(table, *written));
  } else {
    session.out().print(fmt::format(
        "{} {} in {} (seq {}){}", topic, written->id.view(), table.str(), written->sequence.value,
        written->duplicate ? ": this id was there already, nothing was written" : ""));
  }
  return exit_fine;
}

int run_owners(const OwnersArguments& arguments) {
  Session session(arguments);
  std::vector<std::pair<TableName, Owners>> all;
  for (const auto& table : session.tables(arguments.table)) {
    all.emplace_back(table, session.operations().owners(table).value());
  }
  if (session.json()) {
    session.out().print(owners_json(all));
    return exit_fine;
  }
  for (const auto& [table, owners] : all) session.print(owners_view(table, owners));
  return exit_fine;
}

int run_table_names(const OperatorArguments& arguments) {
  Session session(arguments);
  for (const auto& table : session.operations().tables().value()) session.out().print(table.str());
  return exit_fine;
}

int run_pause(const PauseArguments& arguments) {
  Session session(arguments);
  const auto table = session.table(arguments.table);
  const auto what = arguments.topic.empty() ? "table " + table.str()
                                            : "topic " + arguments.topic + " of " + table.str();
  bool changed = false;
  if (arguments.act.dry_run) {
    bool is_paused = false;
    for (const auto& pause : session.operations().pauses(table).value()) {
      is_paused = is_paused || pause.topic == arguments.topic;
    }
    changed = is_paused != arguments.paused;
  } else {
    changed = session.operations()
                  .set_pause(table, arguments.topic, arguments.paused, arguments.note)
                  .value();
  }
  if (session.json()) {
    session.out().print(pause_json(table, arguments.topic, arguments.paused, changed));
    return exit_fine;
  }
  const std::string_view word = arguments.paused ? "paused" : "resumed";
  if (!changed) {
    session.out().print(what + (arguments.paused ? " was paused already" : " was not paused"));
  } else if (arguments.act.dry_run) {
    session.out().print(fmt::format("{} would be {}", what, word));
  } else {
    session.out().print(
        fmt::format("{} is {}{}", what, word,
                    arguments.paused ? ": what is written waits, and nothing is lost" : ""));
  }
  return exit_fine;
}

}  // namespace sagabox::cli
