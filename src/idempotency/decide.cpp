#include "idempotency/decide.hpp"

#include "core/text.hpp"

#include <string>
#include <utility>

namespace sagabox::idempotency {

using State = IdempotencyState;

Verdict judge(const spi::IdempotencyCheckReply& reply, const Digest& request_hash) {
  if (reply.taken) return Verdict::go;
  if (reply.record.request_hash != request_hash) return Verdict::mismatch;
  if (reply.record.state == State::succeeded) return Verdict::replay;
  return reply.record.state == State::failed ? Verdict::last_failed : Verdict::busy;
}

Error refusal(Verdict verdict, const IdempotencyRecord& record) {
  const auto key = quoted(record.key.key);
  switch (verdict) {
    case Verdict::mismatch:
      return {Code::tx_idempotent_mismatch,
              "key " + key + " was used for another request; give each request a key of its own"};
    case Verdict::last_failed:
      return {Code::tx_idempotent_last_failed,
              "the request with key " + key + " failed for good (" +
                  std::string(code_name(record.code)) + "); to try again, use another key"};
    default:
      return {Code::tx_idempotent_busy, "the request with key " + key +
                                            " is being worked on until " +
                                            utc_text(record.lease_until) + "; try again shortly"};
  }
}

Stored bounded(std::string bytes, std::optional<std::string> if_too_large, std::size_t bytes_max) {
  const auto digest = sha256(bytes);
  if (bytes.size() <= bytes_max) return {std::move(bytes), digest};
  if (if_too_large && if_too_large->size() > bytes_max) if_too_large.reset();
  return {std::move(if_too_large), digest};
}

}  // namespace sagabox::idempotency
