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

/// Sends messages that start sagas (`saga:travel`) or reply to their steps (`saga-reply:`).
namespace sagabox::saga {

struct TransportOptions {
  /// The store of the sagas. It outlives the transport. Null: addresses are checked and nothing is
  /// sent.
  Store* store = nullptr;
  /// The definitions that addresses may name; empty: any. Messages for a definition that no process
  /// runs wait in the saga inbox.
  std::vector<std::string> definitions{};
  /// As in `SagaOptions`; empty: `saga-reply:` is refused.
  std::string reply_secret{};
  std::string reply_secret_before{};
  /// A message counts as delivered when the saga's owner has processed it, or when it has been in
  /// the inbox for this time. A message that the owner refuses within this time is rejected with
  /// the owner's code.
  Duration answer_wait = std::chrono::seconds(2);
  std::uint32_t batch_max = 200;  ///< written in one transaction
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// For `RouterOptions::transports`, under the names `saga` and `saga-reply`: one transport for
/// each, or one for both. The setting `key` of a `saga:` address is `id` (the message's id is the
/// saga's key, so that a repeated message starts no second saga) or `message` (the message's key is
/// the saga's key, so that at most one saga is started for a key).
Result<std::unique_ptr<spi::Transport>> open(TransportOptions options);

}  // namespace sagabox::saga
