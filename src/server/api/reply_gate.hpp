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

/// As requests have it.
inline constexpr std::string_view reply_token_header = "saga-reply-token";

/// Replies of participants that have no key of the API: who has the token of a call may answer it.
struct SagaReplyOptions {
  /// Where the sagas are; null: nobody may. It outlives the server.
  Store* store = nullptr;
  std::string secret{};         ///< of the tokens; empty: nobody may
  std::string secret_before{};  ///< older tokens may have been made with it
  /// What participants need once for a step is 1.
  std::uint32_t rate_of_step = 2;  ///< replies a second
  std::uint32_t burst_of_step = 10;
  std::uint32_t rate = 2000;  ///< of all steps together
  std::size_t body_bytes_max = 384UL * 1024;
};

/// Says whose reply a request is, and whether it may go on now. Bounded: steps share places.
class ReplyGate {
 public:
  ReplyGate(SagaReplyOptions options, const Clock& clock);

  [[nodiscard]] const SagaReplyOptions& options() const noexcept { return options_; }
  /// AUTH.DENIED for every token that is not to be taken, always in the same words. Asks no store.
  [[nodiscard]] Result<saga::ReplyClaim> claim(std::string_view token) const;
  /// Counts it. False: too many of this step, or of all.
  bool enter(const saga::ReplyClaim& claim);

 private:
  static constexpr std::size_t places = 4096;

  const SagaReplyOptions options_;
  const Clock& clock_;
  std::mutex mutex_;  // of both below
  flow::Valve all_;
  std::vector<flow::Valve> of_steps_;
};

}  // namespace sagabox::server
