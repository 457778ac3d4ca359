#include "cli/demo/demo_operator.hpp"

#include "cli/views/operator_view.hpp"

#include <algorithm>

namespace sagabox::cli {
namespace {

constexpr Duration said_for = std::chrono::seconds(5);

/// Slow enough to watch, and finished in some seconds.
std::uint32_t watchable_rate(std::uint64_t messages) {
  constexpr std::uint64_t rate_min = 50;
  constexpr std::uint64_t seconds_max = 5;
  constexpr std::uint64_t rate_max = 1'000'000;
  return static_cast<std::uint32_t>(std::clamp(messages / seconds_max, rate_min, rate_max));
}

Line complaint(const Error& error) { return Line("  ").add(error.text(), Style::bad); }

}  // namespace

DemoOperator::DemoOperator(Store& store, const TableName& table, const Clock& clock,
                           std::function<void()> mend)
    : admin_(Admin::open(store, {.actor = "demo"}).value()),
      table_(table),
      clock_(clock),
      mend_(std::move(mend)) {}

void DemoOperator::press(Key key) {
  switch (key) {
    case Key::dead_letters:
      letters_shown_ = !letters_shown_;
      return;
    case Key::replay:
      return replay();
    case Key::pause:
      return pause_or_resume();
    case Key::quit:
      return;
  }
}

void DemoOperator::replay() {
  if (job_) return say("  a replay is still running");
  const auto dead = admin_.count(table_, MessageState::dead, {});
  if (!dead.ok()) return say(complaint(dead.error()));
  if (*dead == 0) return say("  nothing is dead, so there is nothing to replay");
  mend_();
  auto job = admin_.start_replay(table_, {.rate_max = watchable_rate(*dead)});
  if (!job.ok()) return say(complaint(job.error()));
  said_.reset();
  job_ = *std::move(job);
}

void DemoOperator::pause_or_resume() {
  const bool was_paused = paused();
  const auto done = was_paused ? admin_.resume_table(table_) : admin_.pause_table(table_);
  if (!done.ok()) return say(complaint(done.error()));
  say(was_paused ? "  resumed" : "  paused: orders go on, their messages wait");
}

void DemoOperator::look() {
  if (!job_) return;
  auto job = admin_.job(table_, job_->id);
  if (!job.ok()) return;  // the next look retries
  if (job->state == ReplayJob::State::running) {
    job_ = *std::move(job);
    return;
  }
  job_.reset();
  say(replay_bar(*job));
}

bool DemoOperator::paused() const {
  const auto pauses = admin_.pauses(table_).value();
  return std::ranges::any_of(pauses, [](const Pause& pause) { return pause.topic.empty(); });
}

std::uint64_t DemoOperator::replayed() const {
  std::uint64_t messages = 0;
  for (const auto& job : admin_.jobs(table_).value()) messages += job.replayed;
  return messages;
}

std::vector<Line> DemoOperator::dead_letters(std::uint32_t rows_max) const {
  const auto stats = admin_.stats(table_);
  if (!stats.ok()) return {complaint(stats.error())};
  const auto page = admin_.list(table_, {.state = MessageState::dead, .rows_max = rows_max});
  if (!page.ok()) return {complaint(page.error())};
  return dead_letter_view(page->rows, stats->dead, stats->now);
}

std::optional<Line> DemoOperator::progress() const {
  return job_ ? std::optional(replay_bar(*job_)) : std::nullopt;
}

std::vector<Line> DemoOperator::block(std::size_t rows_max) const {
  std::vector<Line> lines{keys_line(paused())};
  const bool fresh = said_ && clock_.boot_now() - said_at_ < said_for;
  if (fresh) lines.push_back(*said_);
  if (const auto bar = progress()) lines.push_back(*bar);
  if (!letters_shown_) return lines;
  constexpr std::size_t around = 2;  // the heading, and the number of those not shown
  const auto taken = lines.size() + around;
  const auto room = rows_max > taken ? rows_max - taken : 1;
  const auto letters =
      dead_letters(static_cast<std::uint32_t>(std::min<std::size_t>(room, letters_max)));
  lines.insert(lines.end(), letters.begin(), letters.end());
  return lines;
}

void DemoOperator::say(const Line& line) {
  news_.push_back(line);
  said_ = line;
  said_at_ = clock_.boot_now();
}

}  // namespace sagabox::cli
