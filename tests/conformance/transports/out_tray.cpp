#include "conformance/transports/out_tray.hpp"

#include <array>
#include <set>
#include <utility>

namespace sagabox::testing {
namespace {

std::string ticket_name(spi::Ticket ticket) { return "ticket " + std::to_string(ticket.value); }

std::string millis(Duration duration) {
  return std::to_string(std::chrono::floor<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

std::string_view kind_name(spi::SendResult::Kind kind) {
  constexpr std::array<std::string_view, 7> names{"delivered", "rejected", "failed", "unreachable",
                                                  "timed_out", "busy",     "later"};
  return names.at(static_cast<std::size_t>(kind));
}

void OutTray::hand_over(std::span<const spi::Parcel> parcels) {
  const std::lock_guard lock(mutex_);
  for (const auto& parcel : parcels) {
    auto& item = items_[parcel.ticket];
    item.parcel = parcel;
    item.handed_over = ++seen_;
  }
}

void OutTray::sent(spi::Ticket ticket, spi::SendResult result) noexcept {
  const auto now = system_clock().boot_now();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  if (shut_) offences_.push_back(ticket_name(ticket) + ": a result after the end");
  const auto found = items_.find(ticket);
  if (found == items_.end()) {
    offences_.push_back(ticket_name(ticket) + ": a result of a parcel that nobody handed over");
    return;
  }
  auto& item = found->second;
  if (++item.results > 1) return;
  item.answered = ++seen_;
  item.result = std::move(result);
  item.at = now;
  ++answered_;
  ++counts_[item.result.kind];
}

void OutTray::shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

template <class Done>
bool OutTray::wait(const Done& done, Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, done);
}

bool OutTray::wait_for_all(Duration timeout) {
  return wait([&] { return answered_ == items_.size(); }, timeout);
}

bool OutTray::wait_for_results(std::size_t count, Duration timeout) {
  return wait([&] { return answered_ >= count; }, timeout);
}

bool OutTray::wait_for_room(std::size_t under_way_max, Duration timeout) {
  return wait([&] { return items_.size() - answered_ <= under_way_max; }, timeout);
}

bool OutTray::wait_for(Kind kind, std::size_t count, Duration timeout) {
  return wait([&] { return counts_[kind] >= count; }, timeout);
}

spi::SendResult OutTray::result(spi::Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  return items_.at(ticket).result;
}

std::size_t OutTray::count(Kind kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(kind);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t OutTray::failures() const {
  const std::lock_guard lock(mutex_);
  const auto delivered = counts_.find(Kind::delivered);
  return answered_ - (delivered == counts_.end() ? 0 : delivered->second);
}

std::vector<spi::Parcel> OutTray::parcels(Kind kind) const {
  const std::lock_guard lock(mutex_);
  std::vector<spi::Parcel> found;
  for (const auto& [ticket, item] : items_) {
    if (item.results > 0 && item.result.kind == kind) found.push_back(item.parcel);
  }
  return found;
}

std::string OutTray::summary() const {
  const std::lock_guard lock(mutex_);
  std::map<Kind, std::pair<std::size_t, std::string>> found;
  for (const auto& [ticket, item] : items_) {
    if (item.results == 0) continue;
    auto& [count, error] = found[item.result.kind];
    ++count;
    if (error.empty()) error = item.result.error;
  }
  auto text = std::to_string(items_.size() - answered_) + " without a result";
  for (const auto& [kind, what] : found) {
    text += ", " + std::to_string(what.first) + " " + std::string(kind_name(kind));
    if (!what.second.empty()) text += " (" + what.second + ")";
  }
  return text;
}

std::vector<std::string> OutTray::problems() const {
  const std::lock_guard lock(mutex_);
  auto found = offences_;
  for (const auto& [ticket, item] : items_) {
    const auto say = [&, which = ticket](const std::string& what) {
      found.push_back(ticket_name(which) + ": " + what);
    };
    if (item.results == 0) {
      say("no result");
      continue;
    }
    if (item.results > 1) say(std::to_string(item.results) + " results");
    if (const auto late = item.at - item.parcel.deadline; late > slack) {
      say("answered " + millis(late) + " after its deadline");
    }
    if (item.result.error.find(payload_marker) != std::string::npos) {
      say("the error shows the payload: " + item.result.error);
    }
    if (item.result.kind != Kind::delivered && item.result.error.empty()) {
      say(std::string(kind_name(item.result.kind)) + ", and the error does not say why");
    }
  }
  return found;
}

std::vector<std::string> OutTray::overtakings(const std::vector<Arrived>& arrived) const {
  std::set<std::string_view> payloads;
  for (const auto& message : arrived) payloads.insert(message.payload);
  const std::lock_guard lock(mutex_);
  // The first of a key and address that is not there, tickets rising.
  std::map<std::pair<const spi::Address*, std::string>, const Item*> failed;
  std::vector<std::string> found;
  for (const auto& [ticket, item] : items_) {
    if (item.results == 0 || !item.parcel.message->has_key()) continue;
    const std::pair lane{item.parcel.address.get(), item.parcel.message->key()};
    const auto before = failed.find(lane);
    if (item.result.kind != Kind::delivered) {
      const bool there = payloads.contains(item.parcel.message->payload().view());
      if (before == failed.end() && !there) failed.emplace(lane, &item);
    } else if (before != failed.end() && item.handed_over < before->second->answered) {
      found.push_back(ticket_name(ticket) + " was delivered though " +
                      ticket_name(before->second->parcel.ticket) + " of its key was " +
                      std::string(kind_name(before->second->result.kind)));
    }
  }
  return found;
}

}  // namespace sagabox::testing
