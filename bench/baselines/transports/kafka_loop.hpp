#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace sagabox::bench::baselines {

/// librdkafka as its examples use it: an idempotent producer, rd_kafka_produceva and rd_kafka_poll
/// in turn, rd_kafka_flush at the end. Messages a second.
double kafka_loop(const std::string& brokers, const std::string& topic, std::uint32_t messages,
                  std::uint32_t under_way_max,
                  const std::function<spi::Parcel(std::uint32_t)>& parcel);

}  // namespace sagabox::bench::baselines
