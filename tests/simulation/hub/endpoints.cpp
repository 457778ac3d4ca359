#include "simulation/hub/endpoints.hpp"

#include "delivery/worker/webhook.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sagabox::simulation {
namespace {

using std::chrono::milliseconds;
using EndpointKind = spi::SendResult::Kind;

struct EndpointAddress final : spi::Address {
  std::string text;
};

std::string header_of(const Message& message, std::string_view name) {
  for (const auto& [key, value] : message.headers()) {
    if (key == name) return value;
  }
  return {};
}

spi::SendResult endpoint_answer(int status) {
  spi::SendResult result;
  result.kind = status < 300 ? EndpointKind::delivered : EndpointKind::failed;
  result.reach = spi::Reach::answered;
  auto answer = std::make_shared<spi::Answer>();
  answer->status = status;
  result.answer = std::move(answer);
  return result;
}

spi::SendResult endpoint_silence(EndpointKind kind, spi::Reach reach) {
  return {.kind = kind, .error = "no answer", .reach = reach};
}

/// Sends a parcel again when its first result is bad, as a transport must not.
class Repeating final : public spi::SendResults {
 public:
  Repeating(Endpoints& endpoints, EndpointCall call, spi::Parcel parcel, spi::SendResults& results)
      : endpoints_(endpoints),
        call_(std::move(call)),
        parcel_(std::move(parcel)),
        results_(results) {}
  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    if (again_ || result.kind == EndpointKind::delivered) {
      results_.sent(ticket, std::move(result));
      delete this;
      return;
    }
    again_ = true;
    endpoints_.called(call_, parcel_, *this);
  }

 private:
  Endpoints& endpoints_;
  EndpointCall call_;
  spi::Parcel parcel_;
  spi::SendResults& results_;
  bool again_ = false;
};

}  // namespace

Endpoints::~Endpoints() {
  for (const auto& open : std::exchange(open_, {})) {
    open.results->sent(open.ticket, {.kind = EndpointKind::delivered});
  }
}

void Endpoints::set_down(const std::string& address, bool down) {
  if (down) {
    down_.insert(address);
  } else {
    down_.erase(address);
  }
}

std::uint32_t Endpoints::calls(const DeliveryId& delivery, std::uint32_t attempt) const {
  const auto known = calls_.find({delivery, attempt});
  return known == calls_.end() ? 0 : known->second;
}

void Endpoints::called(EndpointCall call, const spi::Parcel& parcel, spi::SendResults& results) {
  for (const auto& open : open_) {
    if (open.call.delivery != call.delivery) continue;
    parts_.violated("two attempts of delivery " + call.delivery.str() + " are under way: " +
                    std::to_string(open.call.attempt) + " and " + std::to_string(call.attempt));
  }
  ++calls_[{call.delivery, call.attempt}];
  parts_.arrived(call);
  Open open{.call = std::move(call), .ticket = parcel.ticket, .results = &results};
  plan(open, parcel.deadline);
  open_.push_back(std::move(open));
}

void Endpoints::plan(Open& open, BootTime deadline) {
  const auto now = parts_.now();
  const auto soon = now + milliseconds(1 + parts_.random.below(good_ ? 10 : 80));
  open.answer_at = std::min(soon, deadline);
  open.answer = endpoint_answer(200);
  if (gone_.contains(open.call.address)) {
    open.answer = endpoint_answer(410);
    return;
  }
  if (down_.contains(open.call.address)) {
    open.answer = endpoint_silence(EndpointKind::unreachable, spi::Reach::not_sent);
    return;
  }
  const auto dice = good_ ? 0 : parts_.random.below(100);
  if (dice < 65) return;
  if (dice < 78) {
    open.answer = endpoint_answer(500);
  } else if (dice < 84) {
    open.answer = endpoint_answer(429);
    open.answer.retry_after = milliseconds(parts_.random.below(2'000));
  } else if (dice < 90) {
    open.answer = endpoint_silence(EndpointKind::timed_out, spi::Reach::sent);
    open.answer_at = deadline;
  } else if (dice < 95) {
    open.answer = endpoint_silence(EndpointKind::failed, spi::Reach::sent);
  } else {
    open.answer = endpoint_silence(EndpointKind::unreachable, spi::Reach::not_sent);
  }
}

void Endpoints::work() {
  const auto now = parts_.now();
  std::vector<Open> due;
  std::erase_if(open_, [&](Open& open) {
    if (open.answer_at > now) return false;
    due.push_back(std::move(open));
    return true;
  });
  for (auto& open : due) open.results->sent(open.ticket, std::move(open.answer));
}

Result<std::shared_ptr<const spi::Address>> EndpointTransport::address(
    std::string_view text, const spi::AddressSettings&) {
  auto address = std::make_shared<EndpointAddress>();
  address->text = std::string(text);
  return std::shared_ptr<const spi::Address>(std::move(address));
}

void EndpointTransport::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  for (auto& parcel : parcels) {
    const auto& address = dynamic_cast<const EndpointAddress&>(*parcel.address);
    EndpointCall call{
        .address = address.text,
        .delivery =
            DeliveryId::parse(header_of(*parcel.message, delivery::header::delivery)).value(),
        .attempt = parcel.attempt};
    if (again_) {
      auto* const repeating = new Repeating(endpoints_, call, parcel, results);
      endpoints_.called(std::move(call), parcel, *repeating);
    } else {
      endpoints_.called(std::move(call), parcel, results);
    }
  }
}

}  // namespace sagabox::simulation
