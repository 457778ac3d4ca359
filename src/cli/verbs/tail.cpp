#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/message_view.hpp"
#include "cli/views/operator_view.hpp"
#include "cli/views/view_json.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace sagabox::cli {
namespace {

/// The maximum of one look; more rows are omitted.
constexpr std::size_t rows_max = 20'000;
/// Rows of transactions that end this much later are still found.
constexpr auto overlap = std::chrono::seconds(2);

std::string_view ended_event(MessageState state) {
  return state == MessageState::done ? "delivered" : state_name(state);
}

Style event_style(std::string_view event) {
  if (event == "delivered") return Style::good;
  if (event == "written") return Style::plain;
  return event == "dead" ? Style::bad : Style::warning;
}

/// Follows one table. A message written and ended between two looks is shown only as ended.
class Follower {
 public:
  Follower(Session& session, const TableName& table, bool with_table)
      : session_(session),
        operations_(session.operations()),
        table_(table),
        with_table_(with_table),
        last_(operations_.last_sequence(table).value()),
        since_(operations_.now(table).value()) {
    // Rows known from before: not reported as written or failed now.
    for (const auto& row : rows(MessageState::pending, {.retrying = true})) {
      failed_[row.sequence] = row.attempts;
    }
    began_ = since_;
  }

  void look() {
    const auto now = operations_.now(table_).value();
    for (const auto& row : rows(MessageState::pending, {.first = Sequence{last_.value + 1}})) {
      last_ = std::max(last_, row.sequence);
      say("written", row);
    }
    failures();
    ended();
    since_ = now;
  }

 private:
  std::vector<MessageRecord> rows(MessageState state, const MessageFilter& filter) {
    ListQuery query{.state = state, .filter = filter, .rows_max = Admin::page_rows_max};
    std::vector<MessageRecord> found;
    do {
      auto page = operations_.list(table_, query).value();
      std::ranges::move(page.rows, std::back_inserter(found));
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty() && found.size() < rows_max);
    return found;
  }

  void failures() {
    std::map<Sequence, std::uint32_t> failed;
    for (const auto& row : rows(MessageState::pending, {.retrying = true})) {
      const auto known = failed_.find(row.sequence);
      if (known == failed_.end() || known->second != row.attempts) say("failed", row);
      failed[row.sequence] = row.attempts;
    }
    failed_ = std::move(failed);
  }

  void ended() {
    const auto from = std::max(began_, since_ - overlap);
    std::map<Sequence, WallTime> seen;
    for (const auto state : {MessageState::done, MessageState::dead, MessageState::quarantined}) {
      for (const auto& row : rows(state, {.from = from})) {
        const auto at = row.ended_at.value_or(from);
        const auto known = ended_.find(row.sequence);
        if (known == ended_.end() || known->second != at) say(ended_event(state), row);
        seen[row.sequence] = at;
      }
    }
    ended_ = std::move(seen);
  }

  void say(std::string_view event, const MessageRecord& row) {
    if (session_.json()) {
      session_.out().print(event_json(table_, event, row));
      return;
    }
    const auto at = row.ended_at.value_or(row.written_at);
    constexpr std::size_t clock_at = 11;
    constexpr std::size_t clock_length = 8;
    Line line(utc_text(at).substr(clock_at, clock_length) + " ");
    line.add(event, event_style(event));
    line.add(fmt::format(" {}{} {}", with_table_ ? table_.str() + " " : "",
                         shortened(row.topic, 60), row.id.view()));
    if (row.attempts > 0) line.add(fmt::format(" attempt {}", row.attempts));
    if (event == "delivered") line.add(" in " + age_text(at - row.written_at));
    if (const auto why = why_text(row, since_); !why.empty() && event != "delivered") {
      line.add("  " + shortened(why, 120), Style::faint);
    }
    session_.out().print(line);
  }

  Session& session_;
  Operations& operations_;
  const TableName table_;
  const bool with_table_;
  Sequence last_;
  WallTime since_;
  WallTime began_{};
  std::map<Sequence, std::uint32_t> failed_;
  std::map<Sequence, WallTime> ended_;
};

}  // namespace

int run_tail(const TailArguments& arguments) {
  StopSignals signals;
  Session session(arguments);
  const auto tables = session.tables(arguments.table);
  std::vector<Follower> followers;
  followers.reserve(tables.size());
  for (const auto& table : tables) followers.emplace_back(session, table, tables.size() > 1);
  const auto begun = system_clock().boot_now();
  for (;;) {
    if (signals.wait(arguments.every) == StopSignals::Woken::stop) return exit_fine;
    for (auto& follower : followers) follower.look();
    if (arguments.run_for && system_clock().boot_now() - begun >= *arguments.run_for) {
      return exit_fine;
    }
  }
}

}  // namespace sagabox::cli
