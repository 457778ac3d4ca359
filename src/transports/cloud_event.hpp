#pragma once

#include "transports/envelope.hpp"

#include <string>

namespace sagabox::transports {

inline constexpr std::string_view cloud_event_content_type = "application/cloudevents+json";

/// Appends the message as one CloudEvents 1.0 JSON object (structured mode). A JSON payload stands
/// in it byte for byte, line breaks too; any other as `data_base64`. All attributes are strings:
/// sequences do not fit CloudEvents' integers.
void append_cloud_event(const Envelope& envelope, const Message& message, std::string& out);

}  // namespace sagabox::transports
