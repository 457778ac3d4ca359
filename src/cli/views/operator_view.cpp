#include "cli/views/operator_view.hpp"

#include "cli/views/text_table.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sagabox::cli {
namespace {

constexpr std::size_t id_tail = 6;
constexpr std::size_t narrow_topic_columns_max = 24;
constexpr std::size_t error_columns_max = 48;
constexpr std::uint64_t bar_columns = 20;

/// The end of an id: ids of the same hour begin alike.
std::string short_id(const MessageId& id) {
  const auto text = id.view();
  if (text.size() <= id_tail) return std::string(text);
  return "…" + std::string(text.substr(text.size() - id_tail));
}

std::string rate_of(const ReplayJob& job) {
  const auto seconds = std::chrono::duration<double>(job.changed_at - job.created_at).count();
  if (job.replayed == 0 || seconds <= 0) return "";
  return fmt::format("  {}/s", grouped(static_cast<std::uint64_t>(
                                   std::llround(static_cast<double>(job.replayed) / seconds))));
}

}  // namespace

Line keys_line(bool paused) {
  return Line("  ")
      .add("d", Style::strong)
      .add(" dead letters  ")
      .add("r", Style::strong)
      .add(" replay them  ")
      .add("p", Style::strong)
      .add(paused ? " resume  " : " pause  ")
      .add("q", Style::strong)
      .add(" quit");
}

std::string progress_bar(std::uint64_t part, std::uint64_t whole) {
  const auto full = whole == 0 ? bar_columns : std::min(part, whole) * bar_columns / whole;
  std::string text;
  for (std::uint64_t column = 0; column < bar_columns; ++column) text += column < full ? "█" : "░";
  return text;
}

std::vector<Line> dead_letter_view(std::span<const MessageRecord> oldest, std::uint64_t dead,
                                   WallTime now) {
  if (oldest.empty()) return {Line().add("  no dead letters", Style::faint)};
  constexpr auto right = TextTable::Side::right;
  TextTable table({{"ID"}, {"TOPIC"}, {"TRIES", right}, {"AGE", right}, {"CODE"}, {"ERROR"}});
  for (const auto& letter : oldest) {
    table.add({{short_id(letter.id)},
               {shortened(letter.topic, narrow_topic_columns_max)},
               {std::to_string(letter.attempts)},
               {letter.ended_at ? age_text(now - *letter.ended_at) : "-"},
               {letter.code ? std::string(code_name(*letter.code)) : "-"},
               {shortened(letter.error, error_columns_max)}});
  }
  auto lines = table.lines("  ");
  if (dead > oldest.size()) {
    lines.push_back(
        Line().add(fmt::format("  and {} more", grouped(dead - oldest.size())), Style::faint));
  }
  return lines;
}

Line replay_bar(const ReplayJob& job) {
  const bool finished = job.state == ReplayJob::State::finished;
  // `matched` was counted at the start: some have died since, others were deleted.
  const auto whole = finished ? job.replayed : std::max(job.matched, job.replayed);
  auto line =
      Line(fmt::format("  replay job {}  ", job.id.value))
          .add(progress_bar(job.replayed, whole), Style::good)
          .add(fmt::format("  {}/{}{}", grouped(job.replayed), grouped(whole), rate_of(job)));
  if (job.skipped > 0) line.add(fmt::format("  {} skipped", grouped(job.skipped)), Style::warning);
  if (job.state == ReplayJob::State::running) return line;
  line.add("  ").add(job_state_name(job.state), finished ? Style::good : Style::bad);
  if (!job.error.empty()) line.add(": " + shortened(job.error, error_columns_max));
  return line;
}

std::string shortened(std::string_view text, std::size_t columns_max) {
  std::string out;
  std::size_t columns = 0;
  std::size_t last = 0;  // where the last character in `out` begins
  for (std::size_t at = 0; at < text.size(); ++columns) {
    if (columns == columns_max) {
      out.resize(last);
      return out + "…";
    }
    last = out.size();
    const auto c = utf8_front(text.substr(at));
    const bool printable = c.bytes != 0 && !is_control(c.code_point);
    out += printable ? text.substr(at, c.bytes) : std::string_view("?");
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return out;
}

}  // namespace sagabox::cli
