#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace sagabox {

/// One attempt to deliver one message, passed to its handler. Valid during the call only.
class Delivery {
 public:
  struct Facts {
    const Message* message = nullptr;
    const TableName* table = nullptr;
    Sequence sequence{};
    Shard shard{};
    Epoch epoch{};
    std::uint32_t attempt = 1;
    BootTime deadline{};
    std::stop_token stop;
  };
  explicit Delivery(const Facts& facts) : facts_(facts) {}

  [[nodiscard]] const Message& message() const noexcept { return *facts_.message; }
  [[nodiscard]] const MessageId& id() const noexcept { return message().id(); }
  [[nodiscard]] const std::string& topic() const noexcept { return message().topic(); }
  [[nodiscard]] const std::string& tenant() const noexcept { return message().tenant(); }
  [[nodiscard]] const std::string& key() const noexcept { return message().key(); }
  [[nodiscard]] const Payload& payload() const noexcept { return message().payload(); }
  [[nodiscard]] const Headers& headers() const noexcept { return message().headers(); }
  [[nodiscard]] const TraceContext& trace() const noexcept { return message().trace(); }
  [[nodiscard]] const TableName& table() const noexcept { return *facts_.table; }
  [[nodiscard]] Sequence sequence() const noexcept { return facts_.sequence; }
  /// The first attempt is 1.
  [[nodiscard]] std::uint32_t attempt() const noexcept { return facts_.attempt; }
  /// Increases whenever the shard gets another owner: a receiver that remembers the highest epoch
  /// of a shard can refuse messages that a stale owner still sends.
  [[nodiscard]] Epoch epoch() const noexcept { return facts_.epoch; }
  [[nodiscard]] Shard shard() const noexcept { return facts_.shard; }
  /// Stop is requested at the deadline. While a handler continues after it, its message and key
  /// stay in flight.
  [[nodiscard]] const std::stop_token& stop_token() const noexcept { return facts_.stop; }
  [[nodiscard]] BootTime deadline() const noexcept { return facts_.deadline; }

 private:
  const Facts& facts_;
};

/// The result of an attempt.
struct Outcome {
  enum class Kind : std::uint8_t { done, retry, reject };
  Kind kind = Kind::done;
  /// For `retry`: the handler's own delay instead of the policy's.
  std::optional<Duration> delay{};
  /// For `retry`: whether this attempt counts.
  bool spends_attempt = true;
  Code code = Code::tx_handler_failed;
  std::string error{};
};

enum class Attempt : std::uint8_t { spent, not_spent };

inline Outcome done() { return {}; }
/// Failed; the retry policy decides when to try again.
Outcome retry(std::string why);
/// Not now: try again after `delay`.
Outcome retry_after(Duration delay, Attempt attempt = Attempt::spent);
/// Can never succeed: the message becomes dead at once.
Outcome reject(std::string why);

/// Handles a message in process. An exception is a failed attempt. Called from several threads.
using Listener = std::function<Outcome(const Delivery&)>;

/// Called around every dispatch, `before` in the order of registration, `after` in reverse. An
/// exception from `before` fails the attempt; one from `after` is logged.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  virtual void before(const Delivery&) {}
  virtual void after(const Delivery&, const Outcome&) {}
};

}  // namespace sagabox
