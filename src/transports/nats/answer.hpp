#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::nats {

/// A quick check whether an answer to a publish says that a stream has stored it.
bool is_plain_ack(std::string_view json) noexcept;

/// The result for the answer to a publish.
spi::SendResult judge_ack(std::string_view json, std::string_view subject);

/// There was no responder for a publish, and the server was asked which streams take the subject.
spi::SendResult judge_streams(std::string_view json, std::string_view subject);

/// That request had no responder either.
spi::SendResult no_jetstream();

/// The result for "no stream takes it".
spi::SendResult unroutable(std::string_view subject);

}  // namespace sagabox::nats
