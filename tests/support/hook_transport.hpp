#pragma once

#include <sagabox/spi/transport.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// Takes any address, records the parcels, and answers as the test says. Not thread-safe.
class HookTransport final : public spi::Transport {
 public:
  struct Hook final : spi::Address {
    std::string text;
    spi::AddressSettings settings;
  };
  using Script = std::function<spi::SendResult(const spi::Parcel&)>;

  static spi::SendResult answered(int status, std::string body = {}) {
    using Kind = spi::SendResult::Kind;
    const bool ok = status >= 200 && status < 300;
    spi::SendResult result{ok ? Kind::delivered : Kind::rejected, ok ? "" : "not taken"};
    result.reach = spi::Reach::answered;
    result.answer =
        std::make_shared<const spi::Answer>(spi::Answer{.status = status, .body = std::move(body)});
    return result;
  }
  static const Hook& hook_of(const spi::Parcel& parcel) {
    return static_cast<const Hook&>(*parcel.address);
  }
  /// Empty if it is missing.
  static std::string setting(const Hook& hook, std::string_view name) {
    for (const auto& [known, value] : hook.settings) {
      if (known == name) return value;
    }
    return {};
  }
  static std::string header(const spi::Parcel& parcel, std::string_view name) {
    for (const auto& [known, value] : parcel.message->headers()) {
      if (known == name) return value;
    }
    return {};
  }

  Script script = [](const spi::Parcel&) { return answered(204); };
  bool hold = false;  ///< answers nothing until `let_go`
  std::vector<spi::Parcel> log;
  int addresses = 0;

  void let_go() {
    hold = false;
    for (auto& [parcel, results] : std::exchange(held_, {})) {
      results->sent(parcel.ticket, script(parcel));
    }
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

  [[nodiscard]] spi::TransportTraits traits() const override { return {}; }
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override {
    ++addresses;
    if (text.find("refused") != std::string_view::npos) {
      return Error{Code::config_invalid, "loopback is not allowed"};
    }
    auto hook = std::make_shared<Hook>();
    hook->text = std::string(text);
    hook->settings = settings;
    return std::shared_ptr<const spi::Address>(std::move(hook));
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    for (const auto& parcel : parcels) {
      log.push_back(parcel);
      if (hold) {
        held_.emplace_back(parcel, &results);
      } else {
        results.sent(parcel.ticket, script(parcel));
      }
    }
  }
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>{};
  }
  void close(BootTime) override { drop(); }
  ~HookTransport() override { drop(); }

 private:
  /// Every parcel gets a result, as of a real transport: who sent it waits for that.
  void drop() {
    using Kind = spi::SendResult::Kind;
    for (auto& [parcel, results] : std::exchange(held_, {})) {
      results->sent(parcel.ticket, {Kind::unreachable, "the transport was closed"});
    }
  }

  std::deque<std::pair<spi::Parcel, spi::SendResults*>> held_;
};

}  // namespace sagabox::testing
