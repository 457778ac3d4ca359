#pragma once

#include "wire/json_out.hpp"

#include <sagabox/time.hpp>

#include <chrono>
#include <string_view>

/// A record is written by its `put_members` into an object that is open, so that the caller can add
/// members of its own.
namespace sagabox::wire {

inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Writes the record as an object. Members that are not part of the record, such as its table, come
/// first.
template <class... Parts>
JsonOut& put(JsonOut& json, const Parts&... parts) {
  json.begin_object();
  put_members(json, parts...);
  return json.end_object();
}

template <class Range, class Put>
JsonOut& put_array(JsonOut& json, std::string_view name, const Range& range, Put put_one) {
  json.name(name).begin_array();
  for (const auto& one : range) put_one(one);
  return json.end_array();
}
/// For records that need no other members.
template <class Range>
JsonOut& put_array(JsonOut& json, std::string_view name, const Range& range) {
  return put_array(json, name, range, [&](const auto& one) { put(json, one); });
}

}  // namespace sagabox::wire
