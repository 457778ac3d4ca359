#include "cli/views/idempotency_view.hpp"

#include "cli/views/operator_view.hpp"
#include "cli/views/text_table.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sagabox::cli {
namespace {

constexpr std::size_t key_shown_max = 48;

Style state_style(IdempotencyState state) {
  switch (state) {
    case IdempotencyState::succeeded:
      return Style::good;
    case IdempotencyState::failed:
      return Style::bad;
    case IdempotencyState::in_flight:
    case IdempotencyState::released:
      break;
  }
  return Style::plain;
}

}  // namespace

std::vector<Line> idempotency_list(std::span<const IdempotencyRecord> records) {
  if (records.empty()) return {Line().add("no key", Style::faint)};
  TextTable table({{.heading = "state"},
                   {.heading = "attempts", .side = TextTable::Side::right},
                   {.heading = "tenant"},
                   {.heading = "consumer"},
                   {.heading = "expires"},
                   {.heading = "key"}});
  for (const auto& record : records) {
    table.add({{std::string(idempotency_state_name(record.state)), state_style(record.state)},
               {std::to_string(record.attempts)},
               {record.key.tenant},
               {record.key.consumer},
               {utc_text(record.expires_at)},
               {shortened(record.key.key, key_shown_max)}});
  }
  return table.lines();
}

std::vector<Line> idempotency_view(const IdempotencyRecord& record) {
  std::vector<Line> lines;
  const auto fact = [&](std::string_view name, const std::string& text) {
    lines.push_back(Line().add(fmt::format("{:<14}", name), Style::faint).add(text));
  };
  fact("key", record.key.key);
  fact("consumer", record.key.consumer);
  fact("tenant", record.key.tenant);
  lines.push_back(
      Line()
          .add(fmt::format("{:<14}", "state"), Style::faint)
          .add(std::string(idempotency_state_name(record.state)), state_style(record.state)));
  fact("attempts", std::to_string(record.attempts));
  fact("request", hex(record.request_hash));
  fact("created", utc_text(record.created_at));
  fact("changed", utc_text(record.changed_at));
  if (record.state == IdempotencyState::in_flight)
    fact("lease until", utc_text(record.lease_until));
  fact("expires", utc_text(record.expires_at));
  if (record.state == IdempotencyState::succeeded) {
    fact("result",
         (record.result ? "kept, " : "too large to be kept, ") + hex(record.result_digest));
  }
  if (!record.error.empty()) {
    fact("error", std::string(code_name(record.code)) + ": " + record.error);
  }
  return lines;
}

}  // namespace sagabox::cli
