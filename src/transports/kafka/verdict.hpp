#pragma once

#include <sagabox/spi/transport.hpp>

#include <librdkafka/rdkafka.h>

#include <string_view>

namespace sagabox::kafka {

struct Circumstances {
  bool may_have_arrived = false;  ///< librdkafka does not know that it is in no log
  bool alone = false;             ///< no other can have been in its batch
};

/// What a delivery report with an error means for its parcel.
spi::SendResult judge(rd_kafka_resp_err_t error, Circumstances circumstances,
                      std::string_view topic);

/// The producer cannot go on with its sequence: it is made anew.
bool ends_the_producer(rd_kafka_resp_err_t error) noexcept;

}  // namespace sagabox::kafka
