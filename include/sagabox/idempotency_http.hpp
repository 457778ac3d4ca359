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

/// An answer as it is kept, and given again when the request is repeated.
struct HttpAnswer {
  unsigned status = 200;
  Headers headers{};
  std::string body{};
  friend bool operator==(const HttpAnswer&, const HttpAnswer&) = default;
};

/// A request that changes something, as far as its `Idempotency-Key` goes.
struct HttpKeyedRequest {
  std::string_view method{};
  std::string_view target{};  ///< path and query
  std::string_view body{};
  /// The values of its `Idempotency-Key` headers, as they came; none: it has no key.
  std::vector<std::string_view> keys{};
  std::string tenant = "default";
  /// Who asks, for instance the id of an API key: what one caller was answered is nobody else's.
  std::string caller{};
};

struct HttpIdempotencyOptions {
  /// Whose keys these are: 1 to 32 letters, digits, _ and -. Two services on one database have
  /// different names.
  std::string service = "http";
  /// A request without a key is refused. Otherwise it is let through every time.
  bool required = false;
  /// Longer than the longest request: after that it counts as lost, and a repetition runs it again.
  Duration lease = std::chrono::minutes(2);
  /// How long a key is known; tell your callers.
  Duration ttl = std::chrono::hours(24);
  /// Of a larger answer the status is kept, and those headers that do not describe the body.
  std::size_t answer_bytes_max = 64UL * 1024;
  /// Outlives it; `idempotency_…`, with the service as consumer.
  Metrics* metrics = &no_metrics();
  const Clock* clock = &system_clock();

  /// Names the option that is wrong.
  [[nodiscard]] Status check() const;
};

/// Requests with the header `Idempotency-Key`, after the IETF's draft
/// (draft-ietf-httpapi-idempotency-key-header): the first is run and its answer kept; when it is
/// sent again it gets the same answer, byte for byte. For a server of your own;
/// <sagabox/servers/beast.hpp> has it ready for Boost.Beast. Our REST API uses the same.
///
/// A key is known per service, tenant and caller. A request whose process ends in the middle is
/// run again when its lease has run out: what it did by then may be done twice. Where all of its
/// effects are in one database, the inbox form (`Transaction::inbox`) rules that out.
///
/// Calls block for one call of the store; safe from any thread.
class HttpIdempotency {
 public:
  /// Lets a request run; `finish` takes it back.
  struct Pass {
    std::optional<IdempotencyKey> key{};  ///< nullopt: the request has none, and nothing is kept
    IdempotencyTicket ticket{};
    Digest request_hash{};  ///< of method, target and body
    /// The first time this request was let through. The same again when it is repeated after a
    /// crash, so that ids can be made from it and the key.
    WallTime first_at{};
  };
  using Begun = std::variant<Pass, HttpAnswer>;

  /// The store outlives it. `random` draws the tickets.
  HttpIdempotency(spi::IdempotencyStore& store, HttpIdempotencyOptions options,
                  Random& random = system_random());

  /// Leave to run the request, or the answer it got before. Errors:
  /// - REQUEST.INVALID (400): the key is missing where it is required, or is not one
  /// - TX.IDEMPOTENT_BUSY (409): the same request runs now; repeat it later
  /// - TX.IDEMPOTENT_MISMATCH (422): the key was used for another request
  /// - TX.IDEMPOTENT_HIT (409): it was done, but its headers are such that no answer was kept
  Result<Begun> begin(const HttpKeyedRequest& request);

  /// The answer of a request that ran. One that says "not now" (408, 409, 425, 429, 5xx) is not
  /// kept: the request may be sent again with the same key. TX.LEASE_LOST: the lease ran out and
  /// a repetition was let through; the answer may be given all the same.
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

/// What refuses a request, as application/problem+json, with the status that goes with the code.
HttpAnswer http_problem(const Error& error);

/// The key in a header's value, which is a quoted string (RFC 8941) or plain characters without
/// quotes; REQUEST.INVALID says what is wrong with it.
Result<std::string> parse_idempotency_key(std::string_view value);

}  // namespace sagabox
