#pragma once

#include "wire/fields.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reads members that a record must have from its fields. Missing or wrong members are noted there.
namespace sagabox::wire {

void must_have(Fields& fields, std::string_view name);
std::string text_in(Fields& fields, std::string_view name);
bool flag_in(Fields& fields, std::string_view name);
std::vector<std::string> texts_in(Fields& fields, std::string_view name);
std::uint64_t number_in(Fields& fields, std::string_view name);
std::optional<std::uint64_t> maybe_number_in(Fields& fields, std::string_view name);
std::optional<Duration> maybe_seconds_in(Fields& fields, std::string_view name);
WallTime time_in(Fields& fields, std::string_view name);
MessageId message_id_in(Fields& fields, std::string_view name);
WorkerId worker_id_in(Fields& fields, std::string_view name);
Digest digest_in(Fields& fields, std::string_view name);
Severity severity_in(Fields& fields, std::string_view name);
/// Codes of a newer version become UNKNOWN.INTERNAL here; the text beside them says more.
std::optional<Code> maybe_code_in(Fields& fields, std::string_view name);

/// A number that fits into `Small`.
template <class Small>
Small small_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return static_cast<Small>(fields.count(name, 0, std::numeric_limits<Small>::max()).value_or(0));
}

template <class Read>
auto list_in(Fields& fields, std::string_view name, Read read) {
  must_have(fields, name);
  std::vector<decltype(read(fields))> all;
  for (auto& one : fields.objects(name)) {
    all.push_back(read(one));
    if (auto status = one.status_of_known(); !status.ok()) fields.fail(status.error());
  }
  return all;
}

template <class Read>
auto object_in(Fields& fields, std::string_view name, Read read) -> decltype(read(fields)) {
  must_have(fields, name);
  auto inner = fields.object(name);
  if (!inner) return {};
  auto value = read(*inner);
  if (auto status = inner->status_of_known(); !status.ok()) fields.fail(status.error());
  return value;
}

}  // namespace sagabox::wire
