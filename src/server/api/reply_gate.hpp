#pragma once

#include "flow/valve.hpp"
#include "saga/calls/reply_token.hpp"

#include <sagabox/result.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::server {

/// In the spelling of request headers.
inline constexpr std::string_view reply_token_header = "saga-reply-token";

/// Replies of participants without an API key: the token of a call allows its holder to answer it.
struct SagaReplyOptions {
  /// The sagas' store; null: no replies. It must outlive the server.
  Store* store = nullptr;
  std::string secret{};         ///< of the tokens; empty: no replies
  std::string secret_before{};  ///< the previous secret, for older tokens
  /// A participant that sends one reply for each step needs 1.
  std::uint32_t rate_of_step = 2;  ///< replies a second
  std::uint32_t burst_of_step = 10;
  std::uint32_t rate = 2000;  ///< for all steps together
  std::size_t body_bytes_max = 384UL * 1024;
};

/// Determines whose reply a request is, and whether it may continue now. Its memory is bounded:
/// steps share counters.
class ReplyGate {
 public:
  ReplyGate(SagaReplyOptions options, const Clock& clock);

  [[nodiscard]] const SagaReplyOptions& options() const noexcept { return options_; }
  /// AUTH.DENIED for every token that is not accepted, always with the same text. Does not query a
  /// store.
  [[nodiscard]] Result<saga::ReplyClaim> claim(std::string_view token) const;
  /// Counts the reply. Returns false if there are too many of this step, or of all.
  bool enter(const saga::ReplyClaim& claim);

 private:
  static constexpr std::size_t places = 4096;

  const SagaReplyOptions options_;
  const Clock& clock_;
  std::mutex mutex_;  // guards both members below
  flow::Valve all_;
  std::vector<flow::Valve> of_steps_;
};

}  // namespace sagabox::server
