#pragma once

#include <sagabox/result.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/inbox.hpp>
#include <sagabox/time.hpp>

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
  WallTime expires_at{};  ///< to the second
  friend bool operator==(const ReplyClaim&, const ReplyClaim&) = default;
};

/// "BASE64URL(claim, a line each).HEX(HMAC-SHA256)": whoever has it may answer the call, without a
/// key of the API. `secret` is not empty.
std::string reply_token(const ReplyClaim& claim, std::string_view secret);

/// Tokens are made with the newest, and taken if either made them.
struct ReplySecrets {
  std::string newest{};  ///< empty: no token is taken
  std::string before{};  ///< empty: there was none
};
/// AUTH.DENIED: it was made with neither secret, was changed, or has expired.
Result<ReplyClaim> read_reply_token(std::string_view token, const ReplySecrets& secrets,
                                    WallTime now);

/// The same in lower-case hexadecimal digits.
std::string hmac_sha256_hex(std::string_view secret, std::string_view text);

}  // namespace sagabox::saga
