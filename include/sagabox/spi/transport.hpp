#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::spi {

/// A place that messages can be sent to, checked and taken apart by the transport that made it;
/// only that one can read it.
class Address {
 public:
  virtual ~Address() = default;
  /// How many its transport works on there at the same time; nothing: `in_flight_max`. More would
  /// wait in the transport, where nobody takes turns.
  [[nodiscard]] virtual std::optional<std::uint32_t> at_once() const { return std::nullopt; }
};

/// What a route says about one of its addresses, as in the configuration: `maxlen: 10000`.
using AddressSettings = std::vector<std::pair<std::string, std::string>>;

using Ticket = Number<struct TicketTag, std::uint64_t>;

/// One attempt to bring one message to one address.
struct Parcel {
  Ticket ticket{};  ///< the sender's; comes back with the result
  std::shared_ptr<const Message> message;
  std::shared_ptr<const Address> address;
  const TableName* table = nullptr;  ///< outlives the result
  Sequence sequence{};
  Shard shard{};
  Epoch epoch{};
  std::uint32_t attempt = 1;
  BootTime deadline{};
  /// More than 0: the result carries the other side's answer, with at most so much of its body.
  /// A transport without answers ignores it.
  std::size_t answer_bytes_max = 0;
  /// The transport sends it once at most. Otherwise it may send it again by itself, as HTTP clients
  /// do when a connection that was kept is cut before the answer.
  bool once = false;
  /// Who tells it, as CloudEvents name it; the numbers above do not travel then. Empty: the table.
  std::string source{};
};

/// For callers of `send` that want the answer and have no bound of their own.
inline constexpr std::size_t answer_bytes_default = 64UL * 1024;

/// The response of the destination. Its body is untrusted: never write it to a log or an error.
struct Answer {
  enum class Body : std::uint8_t {
    complete,
    cut,    ///< longer than `answer_bytes_max`
    ended,  ///< the connection or the deadline ended before it did
  };
  int status = 0;  ///< as its protocol has it: HTTP's 200, 404 …
  std::string body{};
  Body end = Body::complete;
};

/// How far a parcel got. A sender that must not repeat what may have been done goes by this: a
/// `Kind` says who is to blame, and a 502 is the destination's although the request was sent.
enum class Reach : std::uint8_t {
  unknown,   ///< the transport cannot tell
  not_sent,  ///< not a byte of it was sent: it may be sent again
  sent,      ///< at least its first byte was sent, and no answer came: it may have arrived
  answered,  ///< the other side's answer came
};

/// What became of a parcel. Who is to blame decides what comes next: the message for what the
/// other side says about it, the destination for everything else.
struct SendResult {
  enum class Kind : std::uint8_t {
    delivered,    ///< the other side says that it has it, as safely as it can say
    rejected,     ///< never taken as it is: refused, unroutable, too large
    failed,       ///< the other side could not handle it; another time it may
    unreachable,  ///< it did not come so far: connecting, names, TLS, logging in, a server that
                  ///< says that it is down
    timed_out,    ///< no answer by the deadline; it may have arrived
    busy,         ///< not now: the destination asks for less
    later,        ///< not now, this one alone: it did not come to an attempt
  };
  Kind kind = Kind::delivered;
  std::string error{};                    ///< what to do about it; no payload, no secret
  std::optional<Duration> retry_after{};  ///< what the destination asks for
  std::optional<Code> code{};             ///< where it is another than PROVIDER.…
  Reach reach = Reach::unknown;
  /// The transport sent it again by itself: what came of the first time is not known, and an answer
  /// is that to the last.
  bool resent = false;
  /// Null unless the parcel asked for it and `reach` is `answered`.
  std::shared_ptr<const Answer> answer{};
};

/// Told what became of parcels. Called from any thread, also during `send`; takes no long time.
class SendResults {
 public:
  virtual ~SendResults() = default;
  virtual void sent(Ticket ticket, SendResult result) noexcept = 0;
};

/// What a transport can do, as data.
struct TransportTraits {
  /// Parcels with one address and one key arrive in the order in which they were handed over, and
  /// none overtakes one before it that failed: several of a key may be under way.
  bool keeps_order = false;
  /// More under way are refused as `later`, with a short `retry_after`.
  std::uint32_t in_flight_max = 1024;
  std::size_t payload_bytes_max = MessageRules::payload_bytes_ceiling;
};

/// The way to one kind of destination. Thread-safe. Connects when first needed, and again, with
/// backoff, whenever a connection is lost; threads of its own do what waits.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual TransportTraits traits() const = 0;

  /// Takes an address apart, as it stands in a route, scheme and all (`redis:orders`), without
  /// asking anybody. CONFIG.INVALID says what is wrong with it and
  /// what would be right, unknown settings too.
  virtual Result<std::shared_ptr<const Address>> address(std::string_view text,
                                                         const AddressSettings& settings) = 0;

  /// Returns soon, does not throw. Each parcel gets one result, at the latest at its deadline (a
  /// timer's imprecision later); after that nothing of it is on its way any more. `results`
  /// outlives them.
  virtual void send(std::span<Parcel> parcels, SendResults& results) = 0;

  /// What an operator should know of the server's settings, one finding each: asked by `doctor`.
  virtual Result<std::vector<std::string>> findings(BootTime deadline) = 0;

  /// Takes nothing more (`unreachable`), waits for what is under way until `deadline`, gives the
  /// rest its result and lets the connections go. No result comes after it has returned.
  virtual void close(BootTime deadline) = 0;
};

}  // namespace sagabox::spi
