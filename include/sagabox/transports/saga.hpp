#pragma once

#include <sagabox/id.hpp>
#include <sagabox/log.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Messages that start sagas (`saga:travel`) and that are replies to their steps (`saga-reply:`).
namespace sagabox::saga {

struct TransportOptions {
  /// Where the sagas are. It outlives the transport. Null: addresses are checked and nothing is
  /// sent.
  Store* store = nullptr;
  /// That addresses may name; empty: any. What no process runs waits in the saga inbox.
  std::vector<std::string> definitions{};
  /// As in `SagaOptions`; empty: `saga-reply:` is refused.
  std::string reply_secret{};
  std::string reply_secret_before{};
  /// A message has arrived when the saga's owner has taken it, or when it has been in the inbox for
  /// so long: what the owner refuses within this time is rejected with the owner's code.
  Duration answer_wait = std::chrono::seconds(2);
  std::uint32_t batch_max = 200;  ///< written in one transaction
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// For `RouterOptions::transports`, under the names `saga` and `saga-reply`: one each, or one for
/// both. The setting `key` of a `saga:` address is `id` (the message's id is the saga's key, so
/// that a message that comes again starts nothing) or `message` (its key, which lets one saga at
/// most be started for a key).
Result<std::unique_ptr<spi::Transport>> open(TransportOptions options);

}  // namespace sagabox::saga
