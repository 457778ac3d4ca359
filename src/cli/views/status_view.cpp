#include "cli/views/status_view.hpp"

#include "cli/views/message_view.hpp"
#include "cli/views/text_table.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sagabox::cli {
namespace {

std::string rate_text(std::optional<double> rate) {
  if (!rate) return "-";
  return grouped(static_cast<std::uint64_t>(std::llround(std::max(*rate, 0.0)))) + "/s";
}

}  // namespace

Traffic traffic_between(const TrafficLook& first, const TrafficLook& second,
                        std::optional<std::uint64_t> ended) {
  const auto seconds = std::chrono::duration<double>(second.at - first.at).count();
  if (seconds <= 0) return {};
  const auto written =
      static_cast<double>(second.last.value - std::min(first.last, second.last).value);
  if (first.estimated || second.estimated) {
    if (!ended) return {written / seconds, std::nullopt};
    return {written / seconds, static_cast<double>(*ended) / seconds};
  }
  const auto gone =
      written - (static_cast<double>(second.pending) - static_cast<double>(first.pending));
  return {written / seconds, std::max(gone, 0.0) / seconds};
}

std::vector<Line> status_view(std::span<const TableStatus> tables, const Targets& targets) {
  constexpr auto right = TextTable::Side::right;
  TextTable table({{"TABLE"},
                   {"PENDING", right},
                   {"OLDEST", right},
                   {"RATE IN/OUT", right},
                   {"RETRYING", right},
                   {"DEAD", right},
                   {"OWNERS"}});
  std::vector<Line> warnings;
  const auto warn = [&](const std::string& what, const std::string& cure) {
    warnings.push_back(Line().add("! ", Style::warning).add(what).add("  → " + cure, Style::faint));
  };
  for (const auto& status : tables) {
    const auto& facts = status.facts;
    const auto& stats = facts.stats;
    const auto owners = owners_text(facts.owners);
    table.add(
        {{facts.table, Style::strong},
         {(stats.estimated ? "~" : "") + grouped(stats.pending)},
         {stats.oldest_pending ? age_text(stats.now - *stats.oldest_pending) : "-"},
         {status.traffic ? rate_text(status.traffic->in) + "  " + rate_text(status.traffic->out)
                         : "-"},
         {grouped(status.retrying)},
         {(stats.dead_estimated ? "~" : "") + grouped(stats.dead),
          stats.dead > 0 ? Style::bad : Style::plain},
         {owners, owners == "nobody" ? Style::warning : Style::plain}});
    for (const auto& finding : admin::findings_of(facts)) {
      if (finding.severity == Severity::info) continue;
      warn(facts.table + ": " + finding.what, finding.cure);
    }
  }
  for (const auto& target : targets.value_or(std::vector<DestinationState>{})) {
    if (!target.down) continue;
    const auto finding = admin::down_finding(target);
    warn(finding.what, finding.cure);
  }
  auto lines = table.lines();
  lines.insert(lines.end(), warnings.begin(), warnings.end());
  return lines;
}

}  // namespace sagabox::cli
