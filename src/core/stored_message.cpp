#include "core/stored_message.hpp"

#include "core/headers_text.hpp"

#include <algorithm>
#include <utility>

namespace sagabox {
namespace {

/// `Message::build` asks for both, and uses neither: everything is given.
UlidSource& unused_ids() {
  static UlidSource ids(system_clock(), system_random());
  return ids;
}

}  // namespace

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest digest_of(std::string_view bytes) {
  Digest out{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), out.size()), out.begin());
  return out;
}

DecodedMessage decode_stored(std::string_view id, NewMessage&& fields, std::string_view headers,
                             const std::optional<Digest>& digest) {
  auto known_id = MessageId::parse(id);
  if (!known_id.ok()) return {nullptr, known_id.error().message};
  if (!headers.empty()) {
    auto parsed = headers_from_text(headers);
    if (!parsed.ok()) return {nullptr, parsed.error().message};
    fields.headers = std::move(*parsed);
  }
  if (digest) {
    return {
        std::make_shared<const Message>(Message::restore({*known_id, std::move(fields), *digest})),
        {}};
  }
  fields.id = known_id->str();
  auto built = Message::build(std::move(fields), {}, unused_ids(), system_clock());
  if (!built.ok()) return {nullptr, built.error().message};
  return {std::make_shared<const Message>(std::move(built).value()), {}};
}

}  // namespace sagabox
