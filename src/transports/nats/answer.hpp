#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::nats {

/// Whether an answer to a publish says that a stream has it, seen at a glance.
bool is_plain_ack(std::string_view json) noexcept;

/// What the answer to a publish means.
spi::SendResult judge_ack(std::string_view json, std::string_view subject);

/// Nobody answered to a publish, and the server was asked which streams take the subject.
spi::SendResult judge_streams(std::string_view json, std::string_view subject);

/// Nobody answered to that either.
spi::SendResult no_jetstream();

/// What "no stream takes it" reads like.
spi::SendResult unroutable(std::string_view subject);

}  // namespace sagabox::nats
