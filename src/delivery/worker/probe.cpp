#include "delivery/worker/probe.hpp"

#include "delivery/json_node.hpp"
#include "delivery/json_text.hpp"
#include "delivery/worker/webhook.hpp"

#include <sagabox/message.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace sagabox::delivery {
namespace {

constexpr std::size_t proof_bytes_max = 8192;
constexpr std::size_t proof_depth_max = 16;
constexpr std::size_t challenge_numbers = 4;

/// Waits for one parcel. Every one gets its result by its deadline.
class OneResult final : public spi::SendResults {
 public:
  void sent(spi::Ticket, spi::SendResult result) noexcept override {
    const std::scoped_lock lock(mutex_);
    if (!result_) result_ = std::move(result);
    came_.notify_one();
  }
  spi::SendResult wait() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return result_.has_value(); });
    return *std::move(result_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<spi::SendResult> result_;
};

std::string random_challenge(Random& random) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < challenge_numbers; ++i) {
    const auto number = random.next();
    for (unsigned bits = 0; bits < 64; bits += 4) text += digits[(number >> bits) & 0xfU];
  }
  return text;
}

Probed failed_probe(std::string error) {
  Probed probed;
  probed.error = std::move(error);
  return probed;
}

Result<std::shared_ptr<const Message>> probe_message(const ProbeParts& parts,
                                                     const Subscription& subscription,
                                                     std::string_view type, std::string payload) {
  UlidSource ids(parts.clock, parts.random);
  NewMessage draft{.topic = Topic(type),
                   .payload = sagabox::json(std::move(payload)),
                   .tenant = subscription.record.tenant};
  if (!is_webhook(subscription.record.target)) draft.headers = subscription.settings.headers;
  return Message::build_shared(std::move(draft), {}, ids, parts.clock);
}

/// What came of it, and the whole answer.
struct ProbeAnswer {
  Probed probed;
  std::string body{};
};

ProbeAnswer send_probe(const ProbeParts& parts, const Subscription& subscription,
                       std::span<const spi::SealedSecret> secrets, std::string_view type,
                       std::string payload) {
  if (!subscription.problem.empty()) return {failed_probe(subscription.problem)};
  const auto target = open_target(parts.transports, parts.box, subscription, secrets);
  if (!target.ok()) return {failed_probe(target.error().message)};
  auto message = probe_message(parts, subscription, type, std::move(payload));
  if (!message.ok()) return {failed_probe(message.error().message)};
  const auto begun = parts.clock.boot_now();
  auto parcel = hub_parcel(*message, {});
  parcel.address = target->address;
  parcel.deadline = begun + subscription.settings.timeout;
  parcel.answer_bytes_max = proof_bytes_max;
  OneResult one;
  target->transport->send(std::span(&parcel, 1), one);
  const auto sent = one.wait();
  auto result = result_of(sent, parts.clock.boot_now() - begun, (*message)->payload().view());
  return {{.passed = result.completed,
           .status = result.status,
           .took = result.took,
           .error = std::move(result.error),
           .answer = std::move(result.answer)},
          sent.answer ? sent.answer->body : std::string()};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const auto first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

bool has_challenge(std::string_view body, std::string_view challenge) {
  if (trimmed(body) == challenge) return true;
  const auto node =
      parse_node(body, "answer", {.bytes_max = proof_bytes_max, .depth_max = proof_depth_max});
  if (!node.ok() || node->kind != JsonNode::Kind::object) return false;
  return std::ranges::any_of(node->members, [&](const JsonNode::Member& member) {
    return member.name == "challenge" && member.value.kind == JsonNode::Kind::text &&
           member.value.text == challenge;
  });
}

}  // namespace

bool needs_proof(std::string_view target) noexcept { return is_webhook(target); }

Probed prove(const ProbeParts& parts, const Subscription& subscription,
             std::span<const spi::SealedSecret> secrets) {
  if (!needs_proof(subscription.record.target)) return {.passed = true};
  const auto challenge = random_challenge(parts.random);
  const auto asked =
      json_object({{"subscription", subscription.record.id.view()}, {"challenge", challenge}});
  auto [probed, body] = send_probe(parts, subscription, secrets, verification_type, asked);
  // An endpoint that sends back whatever it gets proves nothing.
  const bool echoes = trimmed(body) == asked;
  if (probed.passed && (echoes || !has_challenge(body, challenge))) {
    probed.passed = false;
    probed.error =
        "the answer does not have the challenge; answer with the request's `challenge`, as JSON "
        "{\"challenge\": …} or as it is";
  }
  return std::move(probed);
}

Probed ping(const ProbeParts& parts, const Subscription& subscription,
            std::span<const spi::SealedSecret> secrets) {
  const auto& record = subscription.record;
  return send_probe(parts, subscription, secrets, ping_type,
                    json_object({{"subscription", record.id.view()}, {"name", record.name}}))
      .probed;
}

}  // namespace sagabox::delivery
