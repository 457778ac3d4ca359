#include "core/stored_message.hpp"

#include "core/headers_text.hpp"

#include <algorithm>
#include <utility>

namespace sagabox {
namespace {

/// `Message::build` requires it but does not use it, because the id is given.
UlidSource& unused_ids() {
  static UlidSource ids(system_clock(), system_random());
  return ids;
}

NewMessage draft_of(StoredRow&& row) {
  auto details = std::move(row.details).value_or(MessageDetails{});
  return {.topic = row.topic,
          .key = std::string(row.key),
          .payload = Payload::copy_of(row.form, row.payload),
          .tenant = std::move(details.tenant),
          .aggregate_type = std::move(details.aggregate_type),
          .aggregate_id = std::move(details.aggregate_id),
          .priority = row.priority,
          .content_type = std::move(details.content_type),
          .headers = std::move(details.headers),
          .occurred_at = row.occurred_at,
          .not_before = details.not_before,
          .trace = std::move(details.trace),
          .id = row.id.str()};
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

DecodedMessage decode_stored(Stored&& stored) {
  auto known_id = MessageId::parse(stored.id);
  if (!known_id.ok()) return {nullptr, "id: " + known_id.error().message};
  auto& row = stored.row;
  row.id = *known_id;
  if (!stored.headers.empty()) {
    auto parsed = headers_from_text(stored.headers);
    if (!parsed.ok()) return {nullptr, parsed.error().message};
    row.details->headers = std::move(*parsed);
  }
  if (stored.built_by_us) return {Message::restore_shared(std::move(row)), {}};
  auto built = Message::build_shared(draft_of(std::move(row)), {}, unused_ids(), system_clock());
  if (!built.ok()) return {nullptr, built.error().message};
  return {std::move(*built), {}};
}

}  // namespace sagabox
