#pragma once

#include "flow/breaker.hpp"
#include "saga/calls/caller.hpp"

#include <sagabox/limits.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/saga.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::saga {

struct ParticipantOptions {
  /// "http" serves http:// and https://.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports{};
  spi::AddressSettings settings{};  ///< of all addresses: `secret` …
  /// Of a definition's addresses, before those.
  std::map<std::string, spi::AddressSettings, std::less<>> settings_of_definition{};
  BreakerOptions breaker{};
  SagaLimits limits{};
  std::string reply_secret{};
  WallTime::duration reply_ttl{};  ///< of its tokens
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// Whom a URL calls, as breakers and limits know it: "https://flights:8080".
std::string participant_of(std::string_view url);

/// How an HTTP participant answered, in the words of a saga.
CallResult result_of_send(const spi::SendResult& sent);

/// What a call that is over a limit ends with: unreachable, and this. It was not made.
inline constexpr Code over_limit = Code::server_busy;

/// Calls participants over a transport: docs/sagas.md has the protocol. One that is down is left
/// alone: its calls end at once as unreachable, which costs no attempt, until a probe gets through.
/// So do calls that are over a limit, until their turn.
class RemoteParticipants final : public Caller {
 public:
  explicit RemoteParticipants(ParticipantOptions options);
  /// Nobody is told any more what becomes of calls under way.
  ~RemoteParticipants() override;
  RemoteParticipants(const RemoteParticipants&) = delete;
  RemoteParticipants& operator=(const RemoteParticipants&) = delete;

  /// Before the first call of it. CONFIG.INVALID: no transport takes it.
  Status add(const std::string& definition, const std::string& url);

  void call(std::vector<CallOrder> orders, CallResults& results) override;
  /// A request that was sent cannot be taken back; it ends at its deadline.
  void abandon(CallTicket) override {}

 private:
  struct Core;
  [[nodiscard]] spi::AddressSettings settings_for(const std::string& definition) const;
  Result<std::shared_ptr<const Message>> message_of(const CallOrder& order, UlidSource& ids) const;

  ParticipantOptions options_;
  std::shared_ptr<Core> core_;
};

}  // namespace sagabox::saga
