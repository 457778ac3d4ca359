#pragma once

#include <sagabox/message.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// `message` is null if the row cannot be decoded; `error` says why.
struct DecodedMessage {
  std::shared_ptr<const Message> message{};
  std::string error{};
};

std::string_view bytes_of(const Digest& digest);
/// The digest with these bytes; missing ones are zero.
Digest digest_of(std::string_view bytes);

/// A message as read from a store. A message that sagabox built is used unchanged; one from another
/// writer is checked now, and its digest is computed. `row.id` is ignored. With headers, the row
/// must have details.
struct Stored {
  std::string_view id;
  StoredRow row;
  std::string_view headers{};
  bool built_by_us = true;
};
DecodedMessage decode_stored(Stored&& stored);

}  // namespace sagabox
