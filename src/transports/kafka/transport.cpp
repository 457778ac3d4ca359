#include "transports/kafka/transport.hpp"

#include "transports/kafka/findings.hpp"
#include "transports/kafka/verdict.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::kafka {
namespace {

using Kind = spi::SendResult::Kind;

const spi::SendResult no_answer{Kind::timed_out, "no acknowledgement from Kafka by the deadline"};

const std::string& topic_of(const Letter& letter) {
  return static_cast<const KafkaTopic&>(*letter.parcel.address).name();
}

}  // namespace

KafkaTransport::KafkaTransport(Options options)
    : options_(std::move(options)),
      under_way_(options_.in_flight_max),
      backoff_(options_.backoff_min),
      thread_([this] { run(); }) {}

KafkaTransport::~KafkaTransport() { close(options_.clock->boot_now()); }

spi::TransportTraits KafkaTransport::traits() const {
  // After a final failure, the next batch of the partition may overtake the failed one.
  return {.keeps_order = false,
          .in_flight_max = options_.in_flight_max,
          .payload_bytes_max = options_.payload_bytes_max};
}

Result<std::shared_ptr<const spi::Address>> KafkaTransport::address(
    std::string_view text, const spi::AddressSettings& settings) {
  auto topic = KafkaTopic::parse(text, settings);
  if (!topic) return topic.error();
  const std::lock_guard lock(mutex_);
  const auto& made = *topic;
  return std::shared_ptr<const spi::Address>(topics_.try_emplace(made->name(), made).first->second);
}

void KafkaTransport::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  std::vector<transports::UnderWay::Admitted> taken;
  taken.reserve(parcels.size());
  under_way_.admit(parcels, results, taken);
  if (taken.empty()) return;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = incoming_.empty();
    if (was_empty) {
      incoming_ = std::move(taken);
    } else {
      std::move(taken.begin(), taken.end(), std::back_inserter(incoming_));
    }
  }
  if (was_empty) wake_.ring();
}

Result<std::vector<std::string>> KafkaTransport::findings(BootTime deadline) {
  std::vector<std::string> topics;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, topic] : topics_) topics.push_back(name);
  }
  return find_trouble(options_, topics, deadline);
}

void KafkaTransport::close(BootTime deadline) {
  const std::lock_guard lock(closing_);
  if (!thread_.joinable()) return;
  under_way_.shut();
  under_way_.drained(deadline - options_.clock->boot_now());
  under_way_.end({Kind::unreachable, "the transport was closed before it could be sent"},
                 {Kind::timed_out, "the transport was closed before the acknowledgement"});
  ending_ = true;
  wake_.ring();
  thread_.join();
}

void KafkaTransport::run() {
  while (!ending_) {
    take_incoming();
    expire();
    produce_waiting();
    look_after_producer();
    if (!ending_) wait();
    poll_producer();
  }
  if (producer_ != nullptr) end_producer(&no_answer);
  if (burial_.joinable()) burial_.join();
}

void KafkaTransport::take_incoming() {
  std::vector<transports::UnderWay::Admitted> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(incoming_);
  }
  for (auto& [key, parcel] : taken) {
    waiting_.push_back(std::make_unique<Letter>(Letter{key, std::move(parcel)}));
  }
}

spi::SendResult KafkaTransport::not_sent(std::string_view why) const {
  std::string text = "not sent by the deadline: ";
  text += last_error_.empty() ? why : std::string_view(last_error_);
  return {Kind::unreachable, std::move(text)};
}

void KafkaTransport::expire() {
  const auto now = options_.clock->boot_now();
  if (!under_way_.is_due(now)) return;
  const auto unsent = not_sent("Kafka has no leader for it, or takes no more");
  if (producer_ != nullptr && !producer_->held().empty()) {
    // Letters in the queue were never sent: those past their deadlines are reported, the others are
    // sent again.
    producer_->withdraw(Producer::Withdraw::queued);
    poll_producer();
    std::erase_if(withdrawn_, [&](const std::unique_ptr<Letter>& letter) {
      if (letter->parcel.deadline > now) return false;
      under_way_.finish(letter->key, unsent);
      return true;
    });
    requeue();
  }
  const spi::SendResult too_late{Kind::later, "its deadline had passed before it could be sent"};
  under_way_.expire(now, producer_ == nullptr ? unsent : too_late, no_answer);
  std::erase_if(waiting_, [&](const auto& letter) { return !under_way_.holds(letter->key); });
  // Letters in flight can only be cancelled by closing the connection.
  if (producer_ != nullptr &&
      std::any_of(producer_->held().begin(), producer_->held().end(),
                  [&](const auto& letter) { return !under_way_.holds(letter->key); })) {
    end_producer(nullptr);
  }
}

void KafkaTransport::requeue() {
  waiting_.insert(waiting_.begin(), std::move_iterator(withdrawn_.begin()),
                  std::move_iterator(withdrawn_.end()));
  withdrawn_.clear();
}

bool KafkaTransport::have_producer(BootTime now) {
  if (producer_ != nullptr) return true;
  if (retry_at_ && now < *retry_at_) return false;
  retry_at_.reset();
  auto made = Producer::open(options_, *this, wake_);
  if (made) {
    producer_ = std::move(made).value();
    return true;
  }
  last_error_ = made.error().message;
  is_down_ = true;
  return false;
}

void KafkaTransport::produce_waiting() {
  if (waiting_.empty()) return;
  const auto now = options_.clock->boot_now();
  if (!have_producer(now)) return;
  while (!waiting_.empty() && !is_full_ && !is_broken_) produce_some(now);
}

void KafkaTransport::produce_some(BootTime now) {
  constexpr std::size_t batch_max = 64;
  std::vector<transports::UnderWay::Key> keys;
  const auto count = std::min(batch_max, waiting_.size());
  for (std::size_t i = 0; i < count; ++i) keys.push_back(waiting_[i]->key);
  std::vector<bool> may;
  under_way_.leave(keys, now, may);
  std::size_t taken = 0;
  while (taken < count) {
    auto& letter = waiting_[taken];
    if (may[taken] && !produce(letter)) break;
    ++taken;
  }
  for (auto i = taken; i < count; ++i) under_way_.stay(waiting_[i]->key);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
}

bool KafkaTransport::produce(std::unique_ptr<Letter>& letter) {
  const auto bytes = letter->parcel.message->payload().size();
  if (bytes > options_.payload_bytes_max) {
    under_way_.finish(letter->key,
                      {Kind::rejected, "too large: the payload has " + std::to_string(bytes) +
                                           " bytes, payload_bytes_max is " +
                                           std::to_string(options_.payload_bytes_max)});
    return true;
  }
  const auto error = producer_->produce(letter);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return true;
  is_full_ = error == RD_KAFKA_RESP_ERR__QUEUE_FULL;
  is_broken_ = is_broken_ || ends_the_producer(error);
  if (is_full_ || is_broken_) return false;
  under_way_.finish(letter->key, judge(error, {.alone = true}, topic_of(*letter)));
  return true;
}

void KafkaTransport::poll_producer() {
  if (producer_ == nullptr) return;
  producer_->poll();
  if (delivered_.empty()) return;
  under_way_.deliver(delivered_);
  delivered_.clear();
  is_full_ = false;
  backoff_ = options_.backoff_min;
  last_error_.clear();
}

void KafkaTransport::reported(Letter& letter, rd_kafka_resp_err_t error, bool may_have_arrived) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    delivered_.push_back(letter.key);
    return;
  }
  is_full_ = false;
  if (ends_the_producer(error)) is_broken_ = true;
  const bool is_withdrawn = error == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                            error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT || ends_the_producer(error);
  if (is_withdrawn && verdict_ != nullptr) {
    under_way_.finish(letter.key, *verdict_);
  } else if (is_withdrawn && !may_have_arrived && under_way_.holds(letter.key)) {
    under_way_.stay(letter.key);
    withdrawn_.push_back(std::make_unique<Letter>(Letter{letter.key, std::move(letter.parcel)}));
  } else {
    under_way_.finish(letter.key,
                      judge(error, {.may_have_arrived = may_have_arrived, .alone = letter.alone},
                            topic_of(letter)));
  }
}

void KafkaTransport::troubled(rd_kafka_resp_err_t error, std::string_view text) {
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    is_down_ = true;
    return;
  }
  if (error == RD_KAFKA_RESP_ERR__FATAL) is_broken_ = true;
  last_error_ = hushed(text, options_);
}

void KafkaTransport::look_after_producer() {
  poll_producer();
  requeue();
  if (!is_down_ && !is_broken_) return;
  const spi::SendResult unreachable{
      Kind::unreachable, last_error_.empty() ? "no broker of Kafka can be reached" : last_error_};
  if (is_down_) {
    for (const auto& letter : waiting_) under_way_.finish(letter->key, unreachable);
    waiting_.clear();
  }
  end_producer(is_down_ ? &unreachable : nullptr);
  retry_at_ = options_.clock->boot_now() + backoff_;
  backoff_ = std::min(backoff_ * 2, options_.backoff_max);
  is_down_ = false;
  is_broken_ = false;
}

void KafkaTransport::end_producer(const spi::SendResult* verdict) {
  if (producer_ == nullptr) return;
  verdict_ = verdict;
  producer_->withdraw(Producer::Withdraw::everything);
  poll_producer();
  verdict_ = nullptr;
  is_full_ = false;
  for (const auto& letter : producer_->held()) {
    under_way_.finish(letter->key, verdict == nullptr ? no_answer : *verdict);
  }
  requeue();
  if (burial_.joinable()) burial_.join();
  burial_ = std::thread([last = std::move(producer_)] {});
}

void KafkaTransport::wait() {
  const auto now = options_.clock->boot_now();
  auto until = under_way_.next_due().value_or(BootTime::max());
  if (retry_at_ && !waiting_.empty()) until = std::min(until, *retry_at_);
  constexpr std::int64_t wait_max = 60'000;
  std::int64_t milliseconds = -1;
  if (until != BootTime::max()) {
    milliseconds = std::clamp<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(until - now).count(), 0, wait_max);
  }
  pollfd watched{wake_.descriptor(), POLLIN, 0};
  poll(&watched, 1, static_cast<int>(milliseconds));
  if (watched.revents != 0) wake_.silence();
}

namespace {

Status check(const Options& options) {
  const auto wrong = [](const std::string& text) {
    return Error{Code::config_invalid, "transports kafka: " + text};
  };
  if (options.brokers.empty()) return wrong("brokers: give host:port, several with commas between");
  if (options.in_flight_max == 0) return wrong("in_flight_max: must be at least 1");
  if (options.backoff_min <= Duration::zero() || options.backoff_max < options.backoff_min) {
    return wrong("backoff_min and backoff_max: give 0 < backoff_min <= backoff_max");
  }
  if (auto conf = client_conf(options); !conf) return conf.error();
  return {};
}

}  // namespace

Result<std::unique_ptr<spi::Transport>> open(Options options) {
  if (auto checked = check(options); !checked) return checked.error();
  return std::unique_ptr<spi::Transport>(std::make_unique<KafkaTransport>(std::move(options)));
}

}  // namespace sagabox::kafka
