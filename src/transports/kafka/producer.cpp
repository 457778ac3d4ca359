#include "transports/kafka/producer.hpp"

#include "transports/envelope.hpp"
#include "transports/kafka/address.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace sagabox::kafka {
namespace {

struct DestroyHeaders {
  void operator()(rd_kafka_headers_t* headers) const noexcept { rd_kafka_headers_destroy(headers); }
};
using HeadersHandle = std::unique_ptr<rd_kafka_headers_t, DestroyHeaders>;

constexpr std::size_t headers_usual = 24;

void add(rd_kafka_headers_t* headers, std::string_view name, std::string_view value) {
  rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                      static_cast<ssize_t>(value.size()));
}

/// The headers of CloudEvents' Kafka binding, and the trace context under its own names too.
HeadersHandle headers_of(const spi::Parcel& parcel) {
  const auto& message = *parcel.message;
  HeadersHandle headers(rd_kafka_headers_new(headers_usual + message.headers().size()));
  const transports::Envelope envelope(parcel);
  std::array<char, 64> name{'c', 'e', '_'};
  for (const auto& attribute : envelope.attributes()) {
    std::memcpy(name.data() + 3, attribute.name.data(), attribute.name.size());
    add(headers.get(), {name.data(), attribute.name.size() + 3}, attribute.value);
  }
  const auto add_given = [&](std::string_view header, std::string_view value) {
    if (!value.empty()) add(headers.get(), header, value);
  };
  add_given("content-type", message.content_type());
  const auto& trace = message.trace();
  add_given("traceparent", trace.traceparent);
  add_given("tracestate", trace.tracestate);
  add_given("x-request-id", trace.request_id);
  add_given("x-correlation-id", trace.correlation_id);
  for (const auto& [header, value] : message.headers()) {
    if (transports::may_travel(header)) add(headers.get(), header, value);
  }
  return headers;
}

/// librdkafka's interface takes non-const pointers to data that it only reads.
void* readable(std::string_view text) {
  return const_cast<char*>(text.data());  // NOLINT(*-const-cast)
}

}  // namespace

Result<std::unique_ptr<Producer>> Producer::open(const Options& options, Events& events,
                                                 transports::Wake& wake) {
  auto conf = client_conf(options);
  if (!conf) return conf.error();
  std::unique_ptr<Producer> producer(new Producer(events));
  rd_kafka_conf_set_opaque(conf->get(), producer.get());
  rd_kafka_conf_set_dr_msg_cb(conf->get(), on_report);
  rd_kafka_conf_set_error_cb(conf->get(), on_error);
  std::array<char, 512> text{};
  producer->client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf->get(), text.data(), text.size());
  if (producer->client_ == nullptr) {
    return Error{Code::config_invalid, "transports kafka: " + hushed(text.data(), options)};
  }
  (void)conf->release();  // NOLINT(bugprone-unused-return-value): it is the client's now
  producer->queue_ = rd_kafka_queue_get_main(producer->client_);
  const std::uint64_t once = 1;
  rd_kafka_queue_io_event_enable(producer->queue_, wake.descriptor(), &once, sizeof once);
  return producer;
}

Producer::~Producer() {
  if (client_ == nullptr) return;
  rd_kafka_queue_io_event_enable(queue_, -1, nullptr, 0);
  rd_kafka_queue_destroy(queue_);
  for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
  rd_kafka_destroy(client_);
}

rd_kafka_topic_t* Producer::topic(const std::string& name) {
  auto& topic = topics_[name];
  if (topic == nullptr) topic = rd_kafka_topic_new(client_, name.c_str(), nullptr);
  return topic;
}

rd_kafka_resp_err_t Producer::produce(std::unique_ptr<Letter>& letter) {
  const auto& message = *letter->parcel.message;
  auto* const to = topic(static_cast<const KafkaTopic&>(*letter->parcel.address).name());
  if (to == nullptr) return rd_kafka_last_error();
  auto headers = headers_of(letter->parcel);
  const auto payload = message.payload().view();
  const auto key = message.has_key() ? std::string_view(message.key()) : message.id().view();

  std::array<rd_kafka_vu_t, 5> fields{};
  fields[0].vtype = RD_KAFKA_VTYPE_RKT;
  fields[0].u.rkt = to;
  fields[1].vtype = RD_KAFKA_VTYPE_VALUE;
  fields[1].u.mem = {readable(payload), payload.size()};
  fields[2].vtype = RD_KAFKA_VTYPE_KEY;
  fields[2].u.mem = {readable(key), key.size()};
  fields[3].vtype = RD_KAFKA_VTYPE_HEADERS;
  fields[3].u.headers = headers.get();
  fields[4].vtype = RD_KAFKA_VTYPE_OPAQUE;
  fields[4].u.ptr = letter.get();
  if (auto* const error = rd_kafka_produceva(client_, fields.data(), fields.size())) {
    const auto code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return code;
  }
  (void)headers.release();  // NOLINT(bugprone-unused-return-value): they are the message's now
  letter->place = held_.size();
  letter->alone = held_.empty();
  // With a second letter, the first is not alone any more.
  if (held_.size() == 1) held_.front()->alone = false;
  held_.push_back(std::move(letter));
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::poll() {
  while (rd_kafka_poll(client_, 0) > 0) {
  }
}

void Producer::withdraw(Withdraw what) {
  rd_kafka_purge(client_, what == Withdraw::queued
                              ? RD_KAFKA_PURGE_F_QUEUE
                              : RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  poll();
}

void Producer::on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto& producer = *static_cast<Producer*>(opaque);
  auto* const raw = static_cast<Letter*>(message->_private);
  // The last letter takes its place.
  auto letter = std::exchange(producer.held_[raw->place], nullptr);
  if (raw->place + 1 != producer.held_.size()) {
    producer.held_[raw->place] = std::move(producer.held_.back());
    producer.held_[raw->place]->place = raw->place;
  }
  producer.held_.pop_back();
  producer.events_.reported(*letter, message->err,
                            rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED);
}

void Producer::on_error(rd_kafka_t* client, int error, const char* text, void* opaque) {
  auto& producer = *static_cast<Producer*>(opaque);
  auto code = static_cast<rd_kafka_resp_err_t>(error);
  std::array<char, 512> fatal{};
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    rd_kafka_fatal_error(client, fatal.data(), fatal.size());
    text = fatal.data();
  }
  producer.events_.troubled(code, text == nullptr ? "" : text);
}

}  // namespace sagabox::kafka
