#include "bench/baselines/transports/kafka_loop.hpp"

#include "bench/baselines/transports/attributes.hpp"
#include "bench/measure.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <stdexcept>

namespace sagabox::bench::baselines {
namespace {

struct Counts {
  std::uint32_t reported = 0;
  std::uint32_t failed = 0;
};

void reported(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto& counts = *static_cast<Counts*>(opaque);
  ++counts.reported;
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) ++counts.failed;
}

void set(rd_kafka_conf_t* conf, const char* name, const std::string& value) {
  std::array<char, 512> text{};
  if (rd_kafka_conf_set(conf, name, value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK) {
    throw std::runtime_error(text.data());
  }
}

rd_kafka_headers_t* headers_of(const spi::Parcel& parcel) {
  auto* const headers = rd_kafka_headers_new(16);
  const auto add = [&](const std::string& name, const std::string& value) {
    rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  };
  add("content-type", parcel.message->content_type());
  for_each_attribute(parcel, "ce_", add);
  return headers;
}

}  // namespace

double kafka_loop(const std::string& brokers, const std::string& topic, std::uint32_t messages,
                  std::uint32_t under_way_max,
                  const std::function<spi::Parcel(std::uint32_t)>& parcel) {
  Counts counts;
  auto* const conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", brokers);
  set(conf, "enable.idempotence", "true");
  set(conf, "linger.ms", "2");
  set(conf, "queue.buffering.max.messages", std::to_string(under_way_max));
  rd_kafka_conf_set_opaque(conf, &counts);
  rd_kafka_conf_set_dr_msg_cb(conf, reported);
  std::array<char, 512> text{};
  auto* const producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size());
  if (producer == nullptr) throw std::runtime_error(text.data());
  const auto begin = Steady::now();
  for (std::uint32_t number = 0; number < messages; ++number) {
    const auto one = parcel(number);
    const auto payload = one.message->payload().view();
    const auto key = one.message->has_key() ? one.message->key() : one.message->id().str();
    auto* const headers = headers_of(one);
    while (true) {
      const auto error = rd_kafka_producev(
          producer, RD_KAFKA_V_TOPIC(topic.c_str()),
          RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()),
          RD_KAFKA_V_KEY(key.data(), key.size()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        throw std::runtime_error(rd_kafka_err2str(error));
      }
      rd_kafka_poll(producer, 100);
    }
    rd_kafka_poll(producer, 0);
  }
  rd_kafka_flush(producer, 60'000);
  const auto rate = messages / seconds_since(begin);
  rd_kafka_destroy(producer);
  if (counts.failed > 0 || counts.reported != messages) {
    throw std::runtime_error("the baseline did not deliver everything");
  }
  return rate;
}

}  // namespace sagabox::bench::baselines
