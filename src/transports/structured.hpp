#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::transports {

inline constexpr std::string_view structured_content_type =
    "application/cloudevents+json; charset=utf-8";

struct StructuredForm {
  /// JSON with line breaks in it goes as `data_base64`, so that no byte of it changes.
  bool one_line = false;
  /// The author's headers go along, as the JSON text of one object in the extension `headers`:
  /// extensions are texts, and their names cannot be those of headers.
  bool headers = false;
};

/// A CloudEvents 1.0 event in the JSON format: the envelope, and the payload as it was written in
/// `data` where payload and content type are JSON, in `data_base64` otherwise.
void append_structured(std::string& out, const spi::Parcel& parcel, const StructuredForm& form);

}  // namespace sagabox::transports
