#include "delivery/worker/webhook.hpp"

#include "core/ascii.hpp"
#include "core/error_text.hpp"
#include "delivery/retry_schedule.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::delivery {
namespace {

constexpr std::string_view source_default = "/sagabox/hub";

bool same_header(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

void set_header(Headers& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const auto& header) { return same_header(header.first, name); });
  headers.emplace_back(name, std::move(value));
}

/// Sources are free text, those of CloudEvents are references to a URI.
std::string uri_reference(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view marks = "-._~:/?#@!$&'()*+,;=";
  std::string uri;
  for (const char c : text) {
    if (is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
  }
  return uri;
}

bool is_success(int status) { return status >= 200 && status < 300; }

/// What the endpoint answered decides; who is to blame is for people.
Code code_of_status(int status) {
  const bool later = status >= 500 || status == 408 || status == 425 || status == 429;
  return later ? Code::provider_unavailable : Code::provider_rejected;
}

/// Without an answer. PROVIDER.UNAVAILABLE says that the endpoint was not reached, which spends
/// none of the retries; PROVIDER.REJECTED that no other attempt will do better.
Code code_without_answer(const spi::SendResult& sent) {
  using Kind = spi::SendResult::Kind;
  switch (sent.kind) {
    case Kind::rejected:
      return sent.code.value_or(Code::provider_rejected);
    case Kind::timed_out:
      return sent.reach == spi::Reach::not_sent ? Code::provider_unavailable : Code::tx_timeout;
    case Kind::failed:
      return sent.code.value_or(Code::tx_handler_failed);
    default:
      return Code::provider_unavailable;
  }
}

std::string status_text(int status) {
  auto text = "the endpoint answered " + std::to_string(status);
  if (status >= 300 && status < 400) {
    text += ", a redirect, which is not followed; subscribe with the place it leads to";
  }
  return text;
}

}  // namespace

std::shared_ptr<const Message> message_of(const spi::LeasedJob& leased,
                                          const Subscription& subscription,
                                          std::string traceparent) {
  const auto& event = *leased.event.message;
  NewMessage fields{.topic = event.topic(),
                    .key = event.key(),
                    .payload = event.payload(),
                    .tenant = event.tenant(),
                    .aggregate_type = event.aggregate_type(),
                    .aggregate_id = event.aggregate_id(),
                    .priority = event.priority(),
                    .content_type = event.content_type(),
                    .headers = event.headers(),
                    .occurred_at = event.occurred_at(),
                    .trace = event.trace()};
  if (!traceparent.empty()) fields.trace.traceparent = std::move(traceparent);
  // Those of a webhook belong to its address.
  if (!is_webhook(subscription.record.target)) {
    for (const auto& [name, value] : subscription.settings.headers) {
      set_header(fields.headers, name, value);
    }
  }
  set_header(fields.headers, header::delivery, leased.delivery.id.str());
  set_header(fields.headers, header::attempt, std::to_string(leased.job.attempt));
  return std::make_shared<const Message>(
      Message::restore({.id = event.id(), .fields = std::move(fields), .digest = event.digest()}));
}

spi::Parcel hub_parcel(std::shared_ptr<const Message> message, std::string_view source) {
  static const TableName table = TableName::parse("hub").value();
  spi::Parcel parcel;
  parcel.message = std::move(message);
  parcel.table = &table;
  parcel.answer_bytes_max = job_answer_bytes_max;
  parcel.source = source.empty() ? std::string(source_default) : uri_reference(source);
  return parcel;
}

spi::Parcel parcel_of(const spi::LeasedJob& leased, const Subscription& subscription,
                      std::string traceparent) {
  auto parcel =
      hub_parcel(message_of(leased, subscription, std::move(traceparent)), leased.event.source);
  parcel.shard = leased.job.shard;
  parcel.attempt = leased.job.attempt;
  return parcel;
}

JobResult result_of(const spi::SendResult& sent, Duration took, std::string_view payload) {
  JobResult result;
  result.took = took;
  if (sent.answer) {
    result.status = sent.answer->status;
    result.answer = clean_error(sent.answer->body, job_answer_bytes_max, payload);
    result.completed = is_success(result.status);
  } else {
    result.completed = sent.kind == spi::SendResult::Kind::delivered;
  }
  if (result.completed) return result;
  result.code = sent.answer ? code_of_status(result.status) : code_without_answer(sent);
  result.error = sent.answer ? status_text(result.status)
                             : clean_error(sent.error, spi::HubBounds::error_bytes_max, payload);
  if (sent.retry_after) {
    result.retry_after = std::clamp(*sent.retry_after, Duration{}, RetrySchedule::retry_after_max);
  }
  return result;
}

JobResult not_sent(Code code, std::string error) {
  JobResult result;
  result.code = code;
  result.error = clean_error(error, spi::HubBounds::error_bytes_max);
  return result;
}

}  // namespace sagabox::delivery
