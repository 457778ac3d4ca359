#include "cli/demo/demo_report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr Duration rate_window_min = std::chrono::milliseconds(900);

double as_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string age_of_oldest(const spi::TableStats& stats) {
  if (!stats.oldest_pending) return "-";
  const auto age = std::max(as_seconds(stats.now - *stats.oldest_pending), 0.0);
  return age < 1 ? fmt::format("{:.0f} ms", age * 1000) : fmt::format("{:.1f} s", age);
}

Style style_of_dead(std::uint64_t count, Style none) { return count > 0 ? Style::bad : none; }

std::string why_pending(const DemoStats& figures) {
  const auto& stats = figures.stats;
  if (stats.pending == 0) return "";
  const auto retries = fmt::format("{} wait for a retry", grouped(stats.waiting));
  return figures.paused ? "   because the table is paused; " + retries : "   of which " + retries;
}

std::uint64_t a_second(std::uint64_t now, std::uint64_t before, Duration between) {
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(now - before) / as_seconds(between)));
}

Line row(std::string_view name, std::uint64_t count, Style style = Style::strong) {
  return Line(fmt::format("  {:<12}", name)).add(fmt::format("{:>12}", grouped(count)), style);
}

std::string rate(std::uint64_t count) { return fmt::format("{:>9}/s", grouped(count)); }

}  // namespace

void Rates::add(const DemoStats& figures) {
  if (before_) {
    const auto between = figures.elapsed - before_->elapsed;
    if (between < rate_window_min) return;
    in_ = a_second(figures.committed, before_->committed, between);
    out_ = a_second(figures.stats.done, before_->stats.done, between);
  }
  before_ = figures;
}

std::vector<Line> demo_block(const DemoStats& figures, const Rates& rates) {
  const auto& stats = figures.stats;
  const auto& outbox = figures.outbox;
  const auto note = [](const std::string& text) { return "   " + text; };
  return {
      row("committed", figures.committed)
          .add(rate(rates.in()))
          .add(note("rolled back " + grouped(figures.rolled_back)), Style::faint),
      row("delivered", stats.done, Style::good)
          .add(rate(rates.out()))
          .add(note("failed attempts " + grouped(figures.attempts_failed)), Style::faint),
      row("pending", stats.pending)
          .add(note("oldest " + age_of_oldest(stats)))
          .add(figures.paused ? note("PAUSED") : std::string(), Style::warning),
      row("  retrying", stats.waiting, stats.waiting > 0 ? Style::warning : Style::plain)
          .add(note("keys that wait for one " + grouped(outbox.blocked_keys))),
      row("  queued", outbox.hot_depth + outbox.cold_depth, Style::plain)
          .add(note(fmt::format("hot {}, cold {}, running {}", grouped(outbox.hot_depth),
                                grouped(outbox.cold_depth), outbox.running))),
      row("dead", stats.dead, style_of_dead(stats.dead, Style::plain))
          .add(stats.quarantined == 0 ? std::string()
                                      : note("quarantined " + grouped(stats.quarantined))),
      row("shards", outbox.shards_owned, Style::plain).add(note("owned by this process")),
  };
}

Line demo_line(const DemoStats& figures, const Rates& rates) {
  const auto& outbox = figures.outbox;
  return fmt::format(
      "{:>5.0f} s  in {}/s  out {}/s  pending {}  oldest {}  hot {}  cold {}  retrying {}  "
      "blocked keys {}  dead {}  shards {}{}",
      as_seconds(figures.elapsed), rates.in(), rates.out(), figures.stats.pending,
      age_of_oldest(figures.stats), outbox.hot_depth, outbox.cold_depth, figures.stats.waiting,
      outbox.blocked_keys, figures.stats.dead + figures.stats.quarantined, outbox.shards_owned,
      figures.paused ? "  PAUSED" : "");
}

bool adds_up(const DemoStats& figures) {
  const auto& stats = figures.stats;
  return figures.committed == stats.done + stats.pending + stats.dead + stats.quarantined &&
         figures.ghosts == 0;
}

std::vector<Line> demo_summary(const DemoStats& figures) {
  const auto& stats = figures.stats;
  const auto sum =
      fmt::format("  {} = {} + {} + {} + {}: ", grouped(figures.committed), grouped(stats.done),
                  grouped(stats.pending), grouped(stats.dead), grouped(stats.quarantined));
  const bool right = adds_up(figures);
  std::vector<Line> lines{
      fmt::format("counted from the store after {:.1f} s:", as_seconds(figures.elapsed)),
      row("committed", figures.committed).add("   orders in the business table"),
      row("delivered", stats.done, Style::good),
      row("pending", stats.pending).add(why_pending(figures)),
      row("dead", stats.dead, style_of_dead(stats.dead, Style::strong)),
      row("quarantined", stats.quarantined, style_of_dead(stats.quarantined, Style::strong)),
      Line(sum).add(right ? "it adds up" : "IT DOES NOT ADD UP", right ? Style::good : Style::bad),
      row("rolled back", figures.rolled_back, Style::plain)
          .add(figures.ghosts == 0
                   ? std::string("   none of them was delivered")
                   : fmt::format("   BUT {} DELIVERIES HAD NO ORDER", figures.ghosts)),
  };
  if (figures.replayed > 0) {
    lines.push_back(row("replayed", figures.replayed, Style::plain)
                        .add("   each counted once above, where it is now"));
  }
  return lines;
}

std::string demo_summary_json(const DemoStats& figures, std::string_view store) {
  return boost::json::serialize(boost::json::object{
      {"store", store},
      {"seconds", as_seconds(figures.elapsed)},
      {"committed", figures.committed},
      {"delivered", figures.stats.done},
      {"pending", figures.stats.pending},
      {"retrying", figures.stats.waiting},
      {"dead", figures.stats.dead},
      {"quarantined", figures.stats.quarantined},
      {"replayed", figures.replayed},
      {"paused", figures.paused},
      {"rolled_back", figures.rolled_back},
      {"failed_attempts", figures.attempts_failed},
      {"delivered_without_order", figures.ghosts},
      {"adds_up", adds_up(figures)},
  });
}

}  // namespace sagabox::cli
