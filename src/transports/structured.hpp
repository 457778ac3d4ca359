#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>
#include <string_view>

namespace sagabox::transports {

inline constexpr std::string_view structured_content_type =
    "application/cloudevents+json; charset=utf-8";

struct StructuredForm {
  /// JSON that contains line breaks is sent as `data_base64`, so that its bytes do not change.
  bool one_line = false;
  /// The author's headers are included, as the JSON text of one object in the extension `headers`:
  /// extension values are texts, and extension names cannot be header names.
  bool headers = false;
};

/// A CloudEvents 1.0 event in the JSON format: the envelope, and the payload unchanged in `data` if
/// payload and content type are JSON, otherwise in `data_base64`.
void append_structured(std::string& out, const spi::Parcel& parcel, const StructuredForm& form);

}  // namespace sagabox::transports
