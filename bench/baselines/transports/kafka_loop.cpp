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
    std::array<rd_kafka_vu_t, 5> fields{};
    fields[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    fields[0].u.cstr = topic.c_str();
    fields[1].vtype = RD_KAFKA_VTYPE_VALUE;
    fields[1].u.mem = {const_cast<char*>(payload.data()), payload.size()};
    fields[2].vtype = RD_KAFKA_VTYPE_KEY;
    fields[2].u.mem = {const_cast<char*>(key.data()), key.size()};
    fields[3].vtype = RD_KAFKA_VTYPE_HEADERS;
    fields[3].u.headers = headers_of(one);
    fields[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    fields[4].u.i = RD_KAFKA_MSG_F_COPY;
    while (auto* const error = rd_kafka_produceva(producer, fields.data(), fields.size())) {
      if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        throw std::runtime_error(rd_kafka_error_string(error));
      }
      rd_kafka_error_destroy(error);
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
