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

/// A message as it lies in a store. With a digest it was built by us, and is taken as it is;
/// without one it was written by somebody else, and is checked now.
DecodedMessage decode_stored(std::string_view id, NewMessage&& fields, std::string_view headers,
                             const std::optional<Digest>& digest);

}  // namespace sagabox
