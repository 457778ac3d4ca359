#pragma once

#include <sagabox/message.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// Null where the row cannot be decoded: `error` says why.
struct DecodedMessage {
  std::shared_ptr<const Message> message{};
  std::string error{};
};

std::string_view bytes_of(const Digest& digest);
/// Of its bytes; fewer are filled up with zeros.
Digest digest_of(std::string_view bytes);

/// A message as it lies in a store. One that was built by us is taken as it is; what somebody else
/// has written is checked now, and its digest made. `row.id` is not looked at. With headers the row
/// has details.
struct Stored {
  std::string_view id;
  StoredRow row;
  std::string_view headers{};
  bool built_by_us = true;
};
DecodedMessage decode_stored(Stored&& stored);

}  // namespace sagabox
