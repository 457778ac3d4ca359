#pragma once

#include "bench/measure.hpp"

#include <sagabox/outbox.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What all outboxes are measured with.
namespace sagabox::bench {

inline constexpr std::string_view topic = "bench.order.placed.v1";
inline constexpr std::int64_t keys = 10'000;
inline constexpr std::size_t payload_bytes = 100;

/// JSON of 100 bytes.
std::string payload_of(std::int64_t number);
/// Half of them have one of 10,000 keys; the rest have none.
std::string key_of(std::int64_t number);
/// A message with these.
NewMessage draft(std::uint64_t number);

/// So many of them, in transactions of `batch`.
void write_messages(Store& store, Outbox& outbox, std::uint64_t count, std::uint64_t batch = 1000);

/// The defaults, with delivered messages deleted at once.
OutboxOptions deleting();

/// Returns when `settled()` has come to `count`, looking again after each pause; throws when it
/// does not move for 30 s.
void await_settled(const std::function<std::uint64_t()>& settled, std::uint64_t count,
                   std::chrono::microseconds pause = std::chrono::microseconds(1000));
/// When so many messages were settled.
void await_delivered(const Outbox& outbox, std::uint64_t count);
/// By all of them together.
void await_all_delivered(const std::vector<Outbox>& outboxes, std::uint64_t count);
void await_shards(const Outbox& outbox, std::uint32_t count);

enum class By : std::uint8_t { listener, sink };
/// Drains `rows` by a listener that does nothing, or by the outbox's sink; rows a second from the
/// moment the outbox owns its `shards` until the last is settled.
double drain(Outbox outbox, std::uint32_t shards, std::int64_t rows, By by = By::listener);

/// Long enough that every thread of an idle engine sleeps again.
inline constexpr std::chrono::microseconds idle_pause{1000};

/// What goes into the transaction beside the message.
using WriteBeside = std::function<void(OwnedTransaction& tx, std::uint32_t number)>;
/// When the time of a commit that was called then begins; asked after the handler has run.
using BeginOfTime = std::function<Steady::time_point(Steady::time_point called)>;
/// To the first line of the handler, one commit at a time into an idle outbox.
std::vector<double> hot_microseconds(Store& store, std::uint32_t count, const BeginOfTime& begin,
                                     const WriteBeside& beside = {});

}  // namespace sagabox::bench
