#include "assembly/outage_log.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::assembly {
namespace {

constexpr auto look_interval = std::chrono::milliseconds(250);

bool tells_of_a_store(LogLevel level, std::span<const LogField> fields) {
  if (level < LogLevel::warning) return false;
  return std::ranges::any_of(fields, [](const LogField& field) {
    const auto* const text = std::get_if<std::string_view>(&field.value);
    return field.name == "code" && text != nullptr && *text == code_name(Code::storage_unavailable);
  });
}

}  // namespace

void OutageLog::watch(std::vector<WatchedStore> stores, Looks looks) {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  watching_ = false;
  if (thread_.joinable()) thread_.join();
  ending_ = false;
  suspected_ = false;
  stores_.clear();
  for (auto& store : stores) stores_.push_back({std::move(store)});
  watching_ = !stores_.empty();
  const bool runs = looks == Looks::by_itself && !stores_.empty();
  if (runs) thread_ = std::thread([this] { run(); });
}

void OutageLog::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || suspected_; });
      if (ending_) return;
    }
    look();
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, look_interval, [&] { return ending_; })) return;
  }
}

void OutageLog::look() {
  for (auto& watched : stores_) tell(watched, watched.store.ask());
  suspected_ = std::ranges::any_of(
      stores_, [](const Watched& watched) { return watched.away_since.has_value(); });
}

void OutageLog::tell(Watched& watched, const Status& answer) {
  const auto now = clock_.boot_now();
  if (answer.ok() == !watched.away_since) return;
  if (!answer.ok()) {
    watched.away_since = now;
    return lines_.log(LogLevel::warning,
                      "store does not answer; what needs it waits and is tried again",
                      {{"store", std::string_view(watched.store.name)},
                       {"code", code_name(answer.error().code)},
                       {"error", std::string_view(answer.error().message)}});
  }
  const auto away = std::chrono::duration<double>(now - *watched.away_since).count();
  watched.away_since.reset();
  lines_.log(LogLevel::info, "store answers again",
             {{"store", std::string_view(watched.store.name)},
              {"away_seconds", away},
              {"lines_left_out", left_out_.exchange(0)}});
}

void OutageLog::write(LogLevel level, std::string_view event,
                      std::span<const LogField> fields) noexcept {
  if (!watching_ || !tells_of_a_store(level, fields)) {
    return lines_.write(level, event, fields);
  }
  if (!suspected_.exchange(true)) {
    lines_.write(level, event, fields);
    // Taking the lock ensures that the thread is not between its check and its wait.
    {
      const std::scoped_lock lock(mutex_);
    }
    return changed_.notify_all();
  }
  ++left_out_;
  if (lines_.enabled(LogLevel::debug)) lines_.write(LogLevel::debug, event, fields);
}

}  // namespace sagabox::assembly
