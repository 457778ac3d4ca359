#include "saga/calls/participants.hpp"

#include "core/masked_url.hpp"
#include "saga/calls/call_headers.hpp"
#include "saga/calls/call_limits.hpp"
#include "saga/calls/reply_token.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr Duration probe_wait_min = std::chrono::milliseconds(100);
/// Calls that a participant cannot take come back one after the other, so far apart: each one that
/// comes in vain costs a write.
constexpr Duration return_spacing = std::chrono::milliseconds(2);
/// What would come back later than this takes its turn among those that were told before.
constexpr Duration return_wait_max = std::chrono::minutes(5);
constexpr int status_accepted = 202;

std::string scheme_of(std::string_view url) {
  const auto scheme = std::string(url.substr(0, url.find(':')));
  return scheme == "https" ? "http" : scheme;
}

/// Definitions may have settings of their own for the same URL.
std::string place_name(const std::string& definition, const std::string& url) {
  return definition + " " + url;
}

/// One key or several are the same setting.
bool same_setting(std::string_view one, std::string_view other) {
  const auto is_key = [](std::string_view name) { return name == "secret" || name == "secrets"; };
  return one == other || (is_key(one) && is_key(other));
}

bool is_retry(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status == 503;
}

/// 520 and 524 are a CDN's words for 502 and 504.
bool is_from_between(int status) {
  return status == 502 || status == 504 || status == 520 || status == 524;
}

CallResult result_of_answer(const spi::Answer& answer, const spi::SendResult& sent) {
  const auto status = answer.status;
  CallResult result{.error = "the participant answered " + std::to_string(status),
                    .code = Code::provider_rejected,
                    .retry_after = sent.retry_after};
  if (status == status_accepted) {
    result.kind = CallResult::Kind::wait;
  } else if (status >= 200 && status < 300 && answer.end == spi::Answer::Body::ended) {
    // Its status says that it was done, but the output is lost.
    result.kind = CallResult::Kind::in_doubt;
    result.error += ", but its body ended early";
    result.code = Code::provider_unavailable;
  } else if (status >= 200 && status < 300) {
    // An output that was cut is not JSON any more, and is treated as one that is too large.
    result = {.kind = CallResult::Kind::ok, .output = answer.body};
  } else if (is_retry(status)) {
    result.kind = CallResult::Kind::retry;
    result.code = Code::provider_unavailable;
  } else if (is_from_between(status)) {
    // Somebody between us says that they got no answer: the request may have come through.
    result.kind = CallResult::Kind::in_doubt;
    result.code = Code::provider_unavailable;
  } else if (status >= 500) {
    result.kind = CallResult::Kind::retry;
    result.code = Code::provider_unavailable;
  } else {
    result.kind = CallResult::Kind::fail;
  }
  result.doubt = sent.resent;
  return result;
}

}  // namespace

std::string participant_of(std::string_view url) {
  const auto host = url.find("://");
  if (host == std::string_view::npos) return std::string(url);
  return std::string(url.substr(0, url.find_first_of("/?#", host + 3)));
}

CallResult result_of_send(const spi::SendResult& sent) {
  using Kind = spi::SendResult::Kind;
  if (sent.answer) return result_of_answer(*sent.answer, sent);
  CallResult result{.error = sent.error,
                    .code = sent.code.value_or(Code::provider_unavailable),
                    .retry_after = sent.retry_after};
  if (sent.reach == spi::Reach::not_sent) {
    result.kind =
        sent.kind == Kind::rejected ? CallResult::Kind::fail : CallResult::Kind::unreachable;
    return result;
  }
  const bool never_went = sent.kind == Kind::later || sent.kind == Kind::unreachable;
  result.kind = never_went && sent.reach == spi::Reach::unknown ? CallResult::Kind::unreachable
                                                                : CallResult::Kind::in_doubt;
  return result;
}

/// What outlives the caller while requests are under way: their results come to it.
struct RemoteParticipants::Core final : spi::SendResults {
  struct Place {
    std::shared_ptr<spi::Transport> transport;
    std::shared_ptr<const spi::Address> address;
    std::string transport_name;
    std::string origin;
  };
  struct Origin {
    explicit Origin(const BreakerOptions& options) : breaker(options) {}
    flow::Breaker breaker;
    std::uint32_t under_way = 0;
    BootTime returns_until{BootTime::min()};  ///< when the last one that was told comes back

    /// When one more call that is refused should come back.
    BootTime promise(BootTime now) {
      const auto next = breaker.next(now);
      const auto first = std::max(now + probe_wait_min, next == BootTime::max() ? now : next);
      auto at = std::max(first, returns_until + return_spacing);
      if (at > first + return_wait_max) at = first;
      returns_until = at;
      return at;
    }
  };
  struct UnderWay {
    CallTicket ticket{};
    CallResults* results = nullptr;
    Origin* origin = nullptr;
    BootTime sent{};
    CallLimits::Passage passage{};
  };

  Core(const Clock& clock_of, SagaLimits limits_of)
      : clock(clock_of), limits(std::move(limits_of)) {}

  void sent(spi::Ticket number, spi::SendResult result) noexcept override {
    std::shared_ptr<Core> last;
    UnderWay ended;
    {
      const std::scoped_lock lock(mutex);
      const auto at = under_way.find(number.value);
      if (at == under_way.end()) return;
      ended = at->second;
      under_way.erase(at);
      if (alive) judge(ended, result);
      if (under_way.empty()) last = std::move(self);
      if (!alive) return;
      ++telling;
    }
    ended.results->ended(ended.ticket, result_of_send(result));
    const std::scoped_lock lock(mutex);
    --telling;
    told.notify_all();
  }

  void judge(const UnderWay& ended, const spi::SendResult& result) {
    using Kind = spi::SendResult::Kind;
    auto& breaker = ended.origin->breaker;
    const auto now = clock.boot_now();
    const bool was_open = breaker.open();
    --ended.origin->under_way;
    limits.end(ended.passage, result.reach == spi::Reach::not_sent, now);
    const auto status = result.answer ? result.answer->status : 0;
    if (status == 429 || status == 503) {
      breaker.busy(result.retry_after.value_or(Duration{}), ended.sent, now);
    } else if (status != 0) {
      breaker.delivered(now);
    } else if (result.kind == Kind::unreachable) {
      breaker.unreachable(ended.sent, now);
    } else if (result.kind == Kind::timed_out) {
      breaker.timed_out(ended.sent, now);
    }
    // Those that are refused from now on need not wait behind all that were refused before.
    if (was_open && !breaker.open()) ended.origin->returns_until = BootTime::min();
  }

  /// Null: it may be made, and is under way. Else how it ends.
  [[nodiscard]] std::optional<CallResult> enter(const CallOrder& order, const Place& place,
                                                UnderWay& call, BootTime now);

  const Clock& clock;
  std::mutex mutex;  // of all below
  std::condition_variable told;
  CallLimits limits;
  std::map<std::string, Place, std::less<>> places;
  std::map<std::string, std::unique_ptr<Origin>, std::less<>> origins;
  std::unordered_map<std::uint64_t, UnderWay> under_way;
  std::uint64_t last_number = 0;
  std::uint32_t telling = 0;
  bool alive = true;
  std::shared_ptr<Core> self;  ///< while anything is under way
};

std::optional<CallResult> RemoteParticipants::Core::enter(const CallOrder& order,
                                                          const Place& place, UnderWay& call,
                                                          BootTime now) {
  auto& origin = *origins.at(place.origin);
  if (origin.under_way >= origin.breaker.allowed(now)) {
    return CallResult{.kind = CallResult::Kind::unreachable,
                      .error = place.origin + " is down, or asks for less",
                      .code = Code::provider_unavailable,
                      .retry_after = origin.promise(now) - now};
  }
  const auto held = limits.begin({.transport = place.transport_name,
                                  .participant = place.origin,
                                  .definition = order.definition,
                                  .tenant = order.tenant,
                                  .came_back = order.was_held},
                                 call.passage, now);
  if (held) {
    return CallResult{.kind = CallResult::Kind::unreachable,
                      .error = "held by " + held->by,
                      .code = over_limit,
                      .retry_after = held->wait};
  }
  ++origin.under_way;
  call.origin = &origin;
  return std::nullopt;
}

RemoteParticipants::RemoteParticipants(ParticipantOptions options)
    : options_(std::move(options)),
      core_(std::make_shared<Core>(*options_.clock, options_.limits)) {}

RemoteParticipants::~RemoteParticipants() {
  std::unique_lock lock(core_->mutex);
  core_->alive = false;
  core_->told.wait(lock, [this] { return core_->telling == 0; });
  core_->places.clear();
}

spi::AddressSettings RemoteParticipants::settings_for(const std::string& definition) const {
  const auto own = options_.settings_of_definition.find(definition);
  if (own == options_.settings_of_definition.end()) return options_.settings;
  auto settings = own->second;
  for (const auto& setting : options_.settings) {
    const bool replaced = std::ranges::any_of(
        own->second, [&](const auto& one) { return same_setting(one.first, setting.first); });
    if (!replaced) settings.push_back(setting);
  }
  return settings;
}

Status RemoteParticipants::add(const std::string& definition, const std::string& url) {
  const auto transport = options_.transports.find(scheme_of(url));
  if (transport == options_.transports.end()) {
    return Error{Code::config_invalid, masked_url(url) + ": there is no transport for " +
                                           scheme_of(url) +
                                           "; give one in SagaOptions::transports"};
  }
  auto address = transport->second->address(url, settings_for(definition));
  if (!address.ok()) return address.error();
  const auto origin = participant_of(url);
  const std::scoped_lock lock(core_->mutex);
  core_->places.insert_or_assign(
      place_name(definition, url),
      Core::Place{transport->second, *address, transport->first, origin});
  auto& known = core_->origins[origin];
  if (!known) known = std::make_unique<Core::Origin>(options_.breaker);
  return {};
}

Result<std::shared_ptr<const Message>> RemoteParticipants::message_of(const CallOrder& order,
                                                                      UlidSource& ids) const {
  NewMessage draft{.topic = Topic(order.definition + "." + order.step),
                   .payload = json(order.call.input.empty() ? "null" : order.call.input),
                   .tenant = order.tenant,
                   .aggregate_type = AggregateType(order.definition),
                   .aggregate_id = order.saga.str(),
                   .headers = call_headers(order),
                   .id = call_id(order.call.idempotency_key)};
  draft.trace.traceparent = order.traceparent;
  if (!options_.reply_secret.empty()) {
    const ReplyClaim claim{.saga = order.saga,
                           .definition = order.definition,
                           .tenant = order.tenant,
                           .step = order.step,
                           .direction = order.call.key.direction,
                           .round = order.call.round,
                           .expires_at = options_.clock->wall_now() + options_.reply_ttl};
    draft.headers.emplace_back(header::reply_token, reply_token(claim, options_.reply_secret));
  }
  return Message::build_shared(std::move(draft), {}, ids, *options_.clock);
}

void RemoteParticipants::call(std::vector<CallOrder> orders, CallResults& results) {
  static const TableName table = TableName::parse("sagas").value();
  std::map<std::shared_ptr<spi::Transport>, std::vector<spi::Parcel>> parcels;
  std::vector<std::pair<CallTicket, CallResult>> refused;
  UlidSource ids(*options_.clock, *options_.random);
  const auto now = options_.clock->boot_now();
  for (auto& order : orders) {
    auto message = message_of(order, ids);
    const std::scoped_lock lock(core_->mutex);
    const auto place = core_->places.find(place_name(order.definition, order.call.target.name));
    if (!message.ok() || place == core_->places.end()) {
      const auto error =
          message.ok() ? Error{Code::config_invalid, "its URL is not known here"} : message.error();
      refused.emplace_back(
          order.ticket,
          CallResult{.kind = CallResult::Kind::fail, .error = error.message, .code = error.code});
      continue;
    }
    Core::UnderWay call{.ticket = order.ticket, .results = &results, .sent = now};
    if (auto ended = core_->enter(order, place->second, call, now)) {
      refused.emplace_back(order.ticket, *std::move(ended));
      continue;
    }
    const auto number = ++core_->last_number;
    core_->under_way.emplace(number, std::move(call));
    core_->self = core_;
    parcels[place->second.transport].push_back({.ticket = spi::Ticket{number},
                                                .message = std::move(message).value(),
                                                .address = place->second.address,
                                                .table = &table,
                                                .shard = order.shard,
                                                .epoch = order.epoch,
                                                .attempt = order.call.attempt,
                                                .deadline = order.deadline,
                                                .answer_bytes_max = spi::answer_bytes_default,
                                                .once = !order.idempotent});
  }
  for (auto& [transport, some] : parcels) transport->send(some, *core_);
  for (auto& [ticket, result] : refused) results.ended(ticket, std::move(result));
}

}  // namespace sagabox::saga
