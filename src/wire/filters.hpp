#pragma once

#include "wire/fields.hpp"
#include "wire/json_out.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// The selection of messages, with the same names in a body and in a query.
namespace sagabox::wire {

void put_members(JsonOut& json, const MessageFilter& filter);

/// `Source`: Fields, or the query of a request. Errors are noted there.
template <class Source>
MessageFilter read_filter(Source& from) {
  constexpr auto sequence_max = std::numeric_limits<std::uint64_t>::max();
  MessageFilter filter;
  filter.tenant = from.maybe_text("tenant");
  filter.topic = from.maybe_text("topic");
  filter.aggregate_type = from.maybe_text("aggregate_type");
  filter.key = from.maybe_text("key");
  if (const auto name = from.maybe_text("code")) {
    filter.code = code_from_name(*name);
    if (code_name(*filter.code) != *name) {
      from.wrong("code", "is not an error code; give one like PROVIDER.REJECTED");
    }
  }
  filter.from = from.time("from");
  filter.until = from.time("until");
  if (const auto first = from.count("first", 0, sequence_max)) filter.first = Sequence{*first};
  if (const auto last = from.count("last", 0, sequence_max)) filter.last = Sequence{*last};
  return filter;
}

/// Nullopt if it is missing.
template <class Source>
std::optional<MessageState> read_state(Source& from, std::string_view name) {
  const auto text = from.maybe_text(name);
  if (!text) return std::nullopt;
  const auto state = state_from_name(*text);
  if (!state) from.wrong(name, "is not a state; give pending, done, dead or quarantined");
  return state;
}

}  // namespace sagabox::wire
