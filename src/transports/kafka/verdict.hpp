#pragma once

#include <sagabox/spi/transport.hpp>

#include <librdkafka/rdkafka.h>

#include <string_view>

namespace sagabox::kafka {

struct Circumstances {
  bool may_have_arrived = false;  ///< librdkafka cannot rule out that it is in a log
  bool alone = false;             ///< no other message can have been in its batch
};

/// The result of a parcel whose delivery report has an error.
spi::SendResult judge(rd_kafka_resp_err_t error, Circumstances circumstances,
                      std::string_view topic);

/// The producer's sequence is broken, so it must be replaced.
bool ends_the_producer(rd_kafka_resp_err_t error) noexcept;

}  // namespace sagabox::kafka
