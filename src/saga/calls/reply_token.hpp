#pragma once

#include <sagabox/result.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/inbox.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sagabox::saga {

/// What a reply token allows: to answer this step, in this direction and round, once.
struct ReplyClaim {
  SagaId saga{};
  std::string definition{};
  std::string tenant{};
  std::string step{};
  BarrierDirection direction = BarrierDirection::action;
  std::uint32_t round = 0;
  friend bool operator==(const ReplyClaim&, const ReplyClaim&) = default;
};

/// "BASE64URL(claim as JSON).HEX(HMAC-SHA256)": whoever has it may answer the call, without a key
/// of the API. `secret` is not empty.
std::string reply_token(const ReplyClaim& claim, std::string_view secret);
/// AUTH.DENIED: it was not made with this secret, or was changed.
Result<ReplyClaim> read_reply_token(std::string_view token, std::string_view secret);

/// The same in lower-case hexadecimal digits.
std::string hmac_sha256_hex(std::string_view secret, std::string_view text);

}  // namespace sagabox::saga
