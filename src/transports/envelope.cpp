#include "transports/envelope.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>

namespace sagabox::transports {
namespace {

constexpr std::string_view source_prefix = "/sagabox/";

/// Lower case, sorted.
constexpr std::array<std::string_view, 11> spoken_for = {
    "authorization", "connection",  "content-length", "content-type",      "host",
    "nats-msg-id",   "traceparent", "tracestate",     "transfer-encoding", "x-correlation-id",
    "x-request-id"};
constexpr std::array<std::string_view, 4> spoken_for_prefixes = {"ce-", "ce_", "cloudevents",
                                                                 "webhook-"};

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same(std::string_view name, std::string_view lower_case) {
  return name.size() == lower_case.size() &&
         std::equal(name.begin(), name.end(), lower_case.begin(),
                    [](char left, char right) { return lower(left) == right; });
}

}  // namespace

Envelope::Envelope(const spi::Parcel& parcel) {
  const auto& message = *parcel.message;
  const auto& trace = message.trace();
  const bool is_of_outbox = parcel.source.empty();
  source_ = is_of_outbox ? std::string(source_prefix) + parcel.table->str() : parcel.source;
  time_ = utc_text(message.occurred_at());
  add("specversion", "1.0");
  add("id", message.id().view());
  add("source", source_);
  add("type", message.topic());
  add("time", time_);
  add("subject", message.aggregate_id());
  add("partitionkey", message.key());
  add("tenant", message.tenant());
  if (message.aggregate_type() != aggregate_global) add("aggregatetype", message.aggregate_type());
  add("traceparent", trace.traceparent);
  add("tracestate", trace.tracestate);
  add("requestid", trace.request_id);
  add("correlationid", trace.correlation_id);
  if (!is_of_outbox) return;
  add("outboxsequence", parcel.sequence.value);
  add("outboxshard", parcel.shard.value);
  add("outboxepoch", parcel.epoch.value);
  add("outboxattempt", parcel.attempt);
}

void Envelope::add(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  assert(count_ < attributes_max);
  attributes_[count_++] = {name, value};
}

void Envelope::add(std::string_view name, std::uint64_t number) {
  auto* const begin = digits_.data() + digits_used_;
  const auto end = std::to_chars(begin, digits_.data() + digits_.size(), number).ptr;
  const auto length = static_cast<std::size_t>(end - begin);
  digits_used_ += length;
  add(name, std::string_view(begin, length));
}

bool may_travel(std::string_view header_name) noexcept {
  const auto prefixed = [&](std::string_view prefix) {
    return same(header_name.substr(0, prefix.size()), prefix);
  };
  return std::none_of(spoken_for_prefixes.begin(), spoken_for_prefixes.end(), prefixed) &&
         std::none_of(spoken_for.begin(), spoken_for.end(),
                      [&](std::string_view name) { return same(header_name, name); });
}

}  // namespace sagabox::transports
