#pragma once

#include <sagabox/transports/kafka.hpp>

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <string_view>

namespace sagabox::kafka {

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const noexcept { rd_kafka_conf_destroy(conf); }
};
using ConfHandle = std::unique_ptr<rd_kafka_conf_t, DestroyConf>;

/// Our properties and the user's. CONFIG.INVALID names the property that is wrong, never its value.
Result<ConfHandle> client_conf(const Options& options);

/// A text of librdkafka, without the secrets of the properties.
std::string hushed(std::string_view text, const Options& options);

}  // namespace sagabox::kafka
