#pragma once

#include <sagabox/idempotency_record.hpp>
#include <sagabox/message.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/idempotency_store.hpp>
#include <sagabox/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sagabox {

/// A stored answer, which is returned again when the request is repeated.
struct HttpAnswer {
  unsigned status = 200;
  Headers headers{};
  std::string body{};
  friend bool operator==(const HttpAnswer&, const HttpAnswer&) = default;
};

/// The parts of a modifying request that matter for its `Idempotency-Key`.
struct HttpKeyedRequest {
  std::string_view method{};
  std::string_view target{};  ///< path and query
  std::string_view body{};
  /// The values of its `Idempotency-Key` headers, as received; empty: it has no key.
  std::vector<std::string_view> keys{};
  std::string tenant = "default";
  /// The identity of the caller, for instance the id of an API key: one caller never gets the
  /// answer to another caller.
  std::string caller{};
};

struct HttpIdempotencyOptions {
  /// The service that the keys belong to: 1 to 32 letters, digits, _ and -. Two services on one
  /// database need different names.
  std::string service = "http";
  /// True: a request without a key is refused. False: it is executed every time.
  bool required = false;
  /// Must be longer than the longest request: after this time a request counts as lost, and a
  /// repetition is executed again.
  Duration lease = std::chrono::minutes(2);
  /// How long a key is kept; document it for your callers.
  Duration ttl = std::chrono::hours(24);
  /// Of a larger answer the status is kept, and those headers that do not describe the body.
  std::size_t answer_bytes_max = 64UL * 1024;
  /// Must outlive this; counts `idempotency_…`, with the service as the consumer.
  Metrics* metrics = &no_metrics();
  const Clock* clock = &system_clock();

  /// Names the option that is wrong.
  [[nodiscard]] Status check() const;
};

/// Handles requests with the header `Idempotency-Key`, according to the IETF draft
/// (draft-ietf-httpapi-idempotency-key-header): the first request is executed and its answer
/// stored; a repetition gets the same answer, byte for byte. Use it in your own server;
/// <sagabox/servers/beast.hpp> adapts it to Boost.Beast. Our REST API uses it too.
///
/// A key is known per service, tenant and caller. If the process ends during a request, a
/// repetition is executed again after the lease has expired: the effects so far may happen twice.
/// If all effects are in one database, the inbox form (`Transaction::inbox`) prevents this.
///
/// Each call blocks for one call of the store; safe from any thread.
class HttpIdempotency {
 public:
  /// Permission to execute a request; pass it to `finish` afterwards.
  struct Pass {
    std::optional<IdempotencyKey> key{};  ///< nullopt: the request has none, and nothing is stored
    IdempotencyTicket ticket{};
    Digest request_hash{};  ///< of method, target and body
    /// The time when this request was first admitted. It is the same when the request is repeated
    /// after a crash, so that ids can be derived from it and the key.
    WallTime first_at{};
  };
  using Begun = std::variant<Pass, HttpAnswer>;

  /// The store outlives it. `random` generates the tickets.
  HttpIdempotency(spi::IdempotencyStore& store, HttpIdempotencyOptions options,
                  Random& random = system_random());

  /// Returns permission to execute the request, or the stored answer. Errors:
  /// - REQUEST.INVALID (400): the key is required and missing, or it is malformed
  /// - TX.IDEMPOTENT_BUSY (409): the same request is being executed; repeat it later
  /// - TX.IDEMPOTENT_MISMATCH (422): the key was used for another request
  /// - TX.IDEMPOTENT_HIT (409): it was executed, but no answer could be stored because of its
  /// headers
  Result<Begun> begin(const HttpKeyedRequest& request);

  /// Stores the answer of an executed request. A temporary failure (408, 409, 425, 429, 5xx) is not
  /// stored: the request may be sent again with the same key. TX.LEASE_LOST: the lease expired and
  /// a repetition was admitted; the answer may still be sent.
  Status finish(const Pass& pass, const HttpAnswer& answer);
  /// The same for many at once, in two calls of the store.
  struct Answered {
    Pass pass;
    HttpAnswer answer;
  };
  std::vector<Status> finish(std::span<const Answered> answered);

  [[nodiscard]] const HttpIdempotencyOptions& options() const noexcept { return options_; }

 private:
  Counter& conflicts(std::string_view reason);
  Counter& runs(std::string_view result);
  Error refused(const IdempotencyRecord& record, const Digest& hash);

  spi::IdempotencyStore& store_;
  HttpIdempotencyOptions options_;
  Random& random_;
  Counter& hits_;
  Counter& busy_;
  Counter& mismatch_;
  Counter& runs_succeeded_;
  Counter& runs_released_;
  Counter& runs_lost_;
};

/// The error as application/problem+json, with the HTTP status of its code.
HttpAnswer http_problem(const Error& error);

/// The key in a header's value, which is a quoted string (RFC 8941) or plain characters without
/// quotes; REQUEST.INVALID says what is wrong with it.
Result<std::string> parse_idempotency_key(std::string_view value);

}  // namespace sagabox
