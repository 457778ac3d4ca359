#include "stores/postgres/outbox/decode.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace sagabox::postgres {
namespace {

/// The values of a row that are not columns of their own.
struct Rest {
  static constexpr int payload_bytes = 0;
  static constexpr int attempts = 1;
  static constexpr int replays = 2;
  static constexpr int due = 3;
  static constexpr int tenant = 4;
  static constexpr int aggregate_type = 5;
  static constexpr int aggregate_id = 6;
  static constexpr int priority = 7;
  static constexpr int is_json = 8;
  static constexpr int content_type = 9;
  static constexpr int headers = 10;
  static constexpr int not_before = 11;
  static constexpr int traceparent = 12;
  static constexpr int tracestate = 13;
  static constexpr int request_id = 14;
  static constexpr int correlation_id = 15;
  static constexpr int targets_done = 16;
  static constexpr int retrying = 17;
};
static_assert(Rest::retrying < Composite::fields_max);

MessageDetails details_of(const Composite& rest) {
  const auto text = [&](int field) { return std::string(rest.text(field)); };
  return {.tenant = text(Rest::tenant),
          .aggregate_type = text(Rest::aggregate_type),
          .aggregate_id = text(Rest::aggregate_id),
          .content_type = text(Rest::content_type),
          .not_before = rest.maybe_timestamptz(Rest::not_before),
          .trace = {text(Rest::traceparent), text(Rest::tracestate), text(Rest::request_id),
                    text(Rest::correlation_id)}};
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

MessageId id_of(std::string_view text) {
  auto parsed = MessageId::parse(text);
  return parsed.ok() ? *parsed : MessageId{};
}

}  // namespace

std::size_t bytes_of_row(const Rows& rows, int row, int first) {
  const auto size = [&](int column) { return rows.length(row, first + column); };
  const auto bytes = size(RowColumns::id) + size(RowColumns::topic) + size(RowColumns::key);
  if (rows.is_null(row, first + RowColumns::rest)) {
    return bytes + size(RowColumns::payload) + tenant_default.size() + aggregate_global.size() +
           json_content_type.size();
  }
  const auto rest = rows.composite(row, first + RowColumns::rest);
  auto more = static_cast<std::size_t>(rest.int4(Rest::payload_bytes));
  for (const auto field :
       {Rest::tenant, Rest::aggregate_type, Rest::aggregate_id, Rest::content_type, Rest::headers,
        Rest::traceparent, Rest::tracestate, Rest::request_id, Rest::correlation_id}) {
    more += rest.text(field).size();
  }
  return bytes + more;
}

spi::Row decode_row(const Rows& rows, int row, int first, Shard shard, std::string_view payload) {
  const auto text = [&](int column) { return rows.text(row, first + column); };
  spi::Row out;
  out.sequence = Sequence{rows.uint8(row, first + RowColumns::sequence)};
  out.shard = shard;
  out.written_at = rows.timestamptz(row, first + RowColumns::written_at);
  Stored stored{.id = text(RowColumns::id),
                .row = {.topic = text(RowColumns::topic),
                        .key = text(RowColumns::key),
                        .payload = payload,
                        .occurred_at = rows.timestamptz(row, first + RowColumns::occurred_at)},
                .built_by_us = !rows.is_null(row, first + RowColumns::digest)};
  if (stored.built_by_us) stored.row.digest = digest_of(text(RowColumns::digest));
  if (!rows.is_null(row, first + RowColumns::rest)) {
    const auto rest = rows.composite(row, first + RowColumns::rest);
    out.attempts = static_cast<std::uint32_t>(rest.int4(Rest::attempts));
    out.replays = static_cast<std::uint32_t>(rest.int4(Rest::replays));
    out.targets_done = TargetsDone{static_cast<std::uint64_t>(rest.int8(Rest::targets_done))};
    if (const auto waits = rest.maybe_timestamptz(Rest::due)) out.due = *waits;
    out.retrying = rest.boolean(Rest::retrying);
    stored.row.priority = static_cast<Priority>(rest.int2(Rest::priority));
    if (!rest.boolean(Rest::is_json)) stored.row.form = PayloadForm::bytes;
    stored.row.details = details_of(rest);
    stored.headers = rest.text(Rest::headers);
  }
  auto decoded = decode_stored(std::move(stored));
  out.message = std::move(decoded.message);
  out.decode_error = std::move(decoded.error);
  // The table checks ids: no id is refused here.
  out.id = out.message ? out.message->id() : id_of(text(RowColumns::id));
  return out;
}

namespace {

std::vector<std::uint32_t> transactions_of(std::string_view holders) {
  std::vector<std::uint32_t> ids;
  for (const char* at = holders.data(); at < holders.data() + holders.size(); ++at) {
    std::uint32_t id = 0;
    const auto read = std::from_chars(at, holders.data() + holders.size(), id);
    if (read.ec == std::errc{}) ids.push_back(id);
    at = read.ptr;
  }
  return ids;
}

}  // namespace

std::optional<spi::Horizon> decode_horizon(std::string_view snapshot, std::uint32_t next,
                                           std::string_view holders) {
  constexpr std::size_t count_bytes = 4;
  constexpr std::size_t id_bytes = 8;
  // The number of transactions in progress, xmin, xmax, and those in progress, ascending.
  const auto xmax = big_endian(snapshot.substr(count_bytes + id_bytes, id_bytes));
  const std::uint32_t unnamed = next - static_cast<std::uint32_t>(xmax);
  if (unnamed > unnamed_transactions_max) return std::nullopt;
  spi::Horizon horizon;
  for (auto at = count_bytes + 2 * id_bytes; at < snapshot.size(); at += id_bytes) {
    horizon.in_progress.push_back({big_endian(snapshot.substr(at, id_bytes))});
  }
  for (std::uint32_t i = 0; i < unnamed; ++i) horizon.in_progress.push_back({xmax + i});
  horizon.next = {xmax + unnamed};
  const auto held = transactions_of(holders);
  std::erase_if(horizon.in_progress, [&](TransactionId id) {
    return std::ranges::find(held, static_cast<std::uint32_t>(id.value)) != held.end();
  });
  return horizon;
}

}  // namespace sagabox::postgres
