#pragma once

#include <sagabox/spi/transport.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// A transport that follows the test's script. An address without a script delivers at once;
/// parcels of a held address stay in flight until they are answered.
class ScriptedTransport final : public spi::Transport {
 public:
  using Kind = spi::SendResult::Kind;
  using Script = std::function<spi::SendResult(const spi::Parcel&)>;

  struct Place final : spi::Address {
    explicit Place(std::string text) : name(std::move(text)) {}
    std::string name;
  };
  static const std::string& name_of(const spi::Parcel& parcel) {
    return static_cast<const Place&>(*parcel.address).name;
  }

  void script(const std::string& address, Script script) {
    const std::scoped_lock lock(mutex_);
    scripts_[address] = std::move(script);
  }
  void always(const std::string& address, Kind kind, std::string error = {}) {
    script(address, [=](const spi::Parcel&) { return spi::SendResult{kind, error}; });
  }
  void hold(const std::string& address) { script(address, nullptr); }

  /// Holds nothing any more, and delivers the held parcels.
  void let_go() {
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(scripts_, [](const auto& entry) { return !entry.second; });
    }
    while (answer()) {
    }
  }

  /// The parcels that were sent, in order.
  [[nodiscard]] std::vector<spi::Parcel> sent(const std::string& address) const {
    const std::scoped_lock lock(mutex_);
    std::vector<spi::Parcel> found;
    std::copy_if(log_.begin(), log_.end(), std::back_inserter(found),
                 [&](const spi::Parcel& parcel) { return name_of(parcel) == address; });
    return found;
  }
  [[nodiscard]] std::size_t held() const {
    const std::scoped_lock lock(mutex_);
    return held_.size();
  }
  /// Answers the oldest held parcel; returns false if there is none.
  bool answer(spi::SendResult result = {}) {
    std::pair<spi::Ticket, spi::SendResults*> next;
    {
      const std::scoped_lock lock(mutex_);
      if (held_.empty()) return false;
      next = held_.front();
      held_.pop_front();
    }
    next.second->sent(next.first, std::move(result));
    return true;
  }

  [[nodiscard]] spi::TransportTraits traits() const override {
    return {.in_flight_max = in_flight_max};
  }
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override {
    if (!text.starts_with("http")) text.remove_prefix(text.find(':') + 1);
    if (text.empty()) return Error{Code::config_invalid, "address is empty; give a name"};
    if (!settings.empty()) {
      return Error{Code::config_invalid, "unknown setting \"" + settings.front().first + "\""};
    }
    return std::shared_ptr<const spi::Address>(std::make_shared<Place>(std::string(text)));
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    for (auto& parcel : parcels) {
      Script script = [](const spi::Parcel&) { return spi::SendResult{}; };
      {
        const std::scoped_lock lock(mutex_);
        if (keeps_log) log_.push_back(parcel);
        const auto found = scripts_.find(name_of(parcel));
        if (found != scripts_.end()) script = found->second;
        if (!script) held_.emplace_back(parcel.ticket, &results);
      }
      if (!script) continue;
      results.sent(parcel.ticket, script(parcel));
      if (twice) results.sent(parcel.ticket, {});
    }
  }
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>{};
  }
  void close(BootTime) override {
    while (answer({Kind::unreachable, "closed"})) {
    }
  }

  std::uint32_t in_flight_max = 1024;
  bool keeps_log = true;  ///< for `sent`
  bool twice = false;     ///< a fault: every parcel is answered twice

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Script> scripts_;
  std::vector<spi::Parcel> log_;
  std::deque<std::pair<spi::Ticket, spi::SendResults*>> held_;
};

}  // namespace sagabox::testing
