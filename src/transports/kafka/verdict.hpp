#pragma once

#include <sagabox/spi/transport.hpp>

#include <librdkafka/rdkafka.h>

#include <string_view>

namespace sagabox::kafka {

/// What a delivery report with an error means for its parcel. `may_have_arrived`: librdkafka does
/// not know that it is in no log.
spi::SendResult judge(rd_kafka_resp_err_t error, bool may_have_arrived, std::string_view topic);

/// The producer cannot go on with its sequence: it is made anew.
bool ends_the_producer(rd_kafka_resp_err_t error) noexcept;

}  // namespace sagabox::kafka
