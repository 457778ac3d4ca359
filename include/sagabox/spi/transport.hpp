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

/// A target address, checked and parsed by the transport that created it; only that transport can
/// read it.
class Address {
 public:
  virtual ~Address() = default;
  /// How many parcels its transport sends there at the same time; nullopt: `in_flight_max`. More
  /// would wait in the transport, which does not share the capacity fairly.
  [[nodiscard]] virtual std::optional<std::uint32_t> at_once() const { return std::nullopt; }
};

/// The settings of an address in a route, as in the configuration: `maxlen: 10000`.
using AddressSettings = std::vector<std::pair<std::string, std::string>>;

using Ticket = Number<struct TicketTag, std::uint64_t>;

/// One attempt to send one message to one address.
struct Parcel {
  Ticket ticket{};  ///< chosen by the sender; returned with the result
  std::shared_ptr<const Message> message;
  std::shared_ptr<const Address> address;
  const TableName* table = nullptr;  ///< outlives the result
  Sequence sequence{};
  Shard shard{};
  Epoch epoch{};
  std::uint32_t attempt = 1;
  BootTime deadline{};
  /// If greater than 0, the result contains the destination's answer with at most this much of its
  /// body. A transport without answers ignores it.
  std::size_t answer_bytes_max = 0;
  /// True: the transport sends it at most once. False: it may send it again by itself, as HTTP
  /// clients do if a kept-alive connection is closed before the answer.
  bool once = false;
  /// The CloudEvents source; if set, the numbers above are not sent. Empty: derived from the table.
  std::string source{};
};

/// For callers of `send` that want the answer and have no limit of their own.
inline constexpr std::size_t answer_bytes_default = 64UL * 1024;

/// The response of the destination. Its body is untrusted: never write it to a log or an error.
struct Answer {
  enum class Body : std::uint8_t {
    complete,
    cut,    ///< longer than `answer_bytes_max`
    ended,  ///< incomplete: the connection or the deadline ended
  };
  int status = 0;  ///< of its protocol, for HTTP 200, 404 …
  std::string body{};
  Body end = Body::complete;
};

/// How far a parcel got. A sender that must not repeat requests uses this and not `Kind`, which
/// only attributes the failure: a 502 counts as the destination's failure although the request was
/// sent.
enum class Reach : std::uint8_t {
  unknown,   ///< the transport cannot tell
  not_sent,  ///< no byte of it was sent: it may be sent again
  sent,      ///< at least its first byte was sent, and no answer came: it may have arrived
  answered,  ///< the destination's answer was received
};

/// The result of a parcel. The cause decides how to continue: either the destination answered that
/// the message is wrong, or the destination itself failed.
struct SendResult {
  enum class Kind : std::uint8_t {
    delivered,    ///< the destination confirmed it, with the strongest guarantee it offers
    rejected,     ///< permanent failure: refused, unroutable, too large
    failed,       ///< the destination could not handle it, but may later
    unreachable,  ///< it was not sent: connecting, DNS, TLS or login failed, or the server
                  ///< says that it is down
    timed_out,    ///< no answer by the deadline; it may have arrived
    busy,         ///< the destination asks for a lower rate
    later,        ///< this parcel only: no attempt was made
  };
  Kind kind = Kind::delivered;
  std::string error{};                    ///< what to do about it; no payload, no secret
  std::optional<Duration> retry_after{};  ///< requested by the destination
  std::optional<Code> code{};             ///< if it is not one of PROVIDER.…
  Reach reach = Reach::unknown;
  /// The transport sent it again by itself: the result of the first time is unknown, and `answer`
  /// is that to the last one.
  bool resent = false;
  /// Null unless the parcel requested it and `reach` is `answered`.
  std::shared_ptr<const Answer> answer{};
};

/// Receives the results of parcels. Called from any thread, also during `send`; must return
/// quickly.
class SendResults {
 public:
  virtual ~SendResults() = default;
  virtual void sent(Ticket ticket, SendResult result) noexcept = 0;
};

/// The features of a transport, as data.
struct TransportTraits {
  /// Parcels with the same address and key arrive in the order of `send`, and none overtakes an
  /// earlier one that failed, so several parcels of a key may be under way.
  bool keeps_order = false;
  /// The most parcels under way; further ones get `later` with a short `retry_after`.
  std::uint32_t in_flight_max = 1024;
  std::size_t payload_bytes_max = MessageRules::payload_bytes_ceiling;
};

/// Sends messages to one kind of destination. Thread-safe. Connects when first needed, and again,
/// with backoff, whenever a connection is lost; its own threads do all blocking work.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual TransportTraits traits() const = 0;

  /// Parses an address of a route, including its scheme (`redis:orders`), without any connection.
  /// CONFIG.INVALID says what is wrong with it and what would be right, also for unknown settings.
  virtual Result<std::shared_ptr<const Address>> address(std::string_view text,
                                                         const AddressSettings& settings) = 0;

  /// Returns soon, does not throw. Each parcel gets one result, at its deadline at the latest (plus
  /// timer imprecision); after its result, no part of it is sent any more. `results` outlives them.
  virtual void send(std::span<Parcel> parcels, SendResults& results) = 0;

  /// Findings about the server's settings for operators; used by `doctor`.
  virtual Result<std::vector<std::string>> findings(BootTime deadline) = 0;

  /// Refuses further parcels (`unreachable`), waits until `deadline` for those under way, reports a
  /// result for the rest and closes the connections. No result is reported after it has returned.
  virtual void close(BootTime deadline) = 0;
};

}  // namespace sagabox::spi
