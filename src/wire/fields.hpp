#pragma once

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::wire {

/// The meaning of null as the value of a field.
enum class Nulls : std::uint8_t {
  /// Null is an error, not a way to omit the field: "topic": null must not be taken for all topics.
  refused,
  /// The same as if the field were missing.
  left_out,
};

/// The members of a JSON object, with their values as text, so that a payload is kept byte for
/// byte. The text must outlive it.
///
/// A reader reads every field it knows, then calls `status`, which returns the first error, with
/// the field's name and what would be right, or names a field that was not read.
class Fields {
 public:
  /// `where` precedes the names of the fields in errors: "messages[3]." or empty. Error unless
  /// `text` is one JSON object without duplicate names.
  static Result<Fields> parse(std::string_view text, std::string where = {},
                              Nulls nulls = Nulls::refused);
  /// The same for text that is known to be JSON: a part of a parsed text.
  static Result<Fields> split(std::string_view text, std::string where,
                              Nulls nulls = Nulls::refused);

  [[nodiscard]] bool has(std::string_view name) const;
  /// True if it exists and is not null.
  [[nodiscard]] bool has_value(std::string_view name) const;

  /// Empty if it is missing. Null is an error for this and all below unless they say otherwise.
  std::string text(std::string_view name);
  std::optional<std::string> maybe_text(std::string_view name);
  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t min, std::uint64_t max);
  bool flag(std::string_view name);
  std::optional<WallTime> time(std::string_view name);
  /// An object whose values are strings.
  Headers texts_by_name(std::string_view name);
  /// An array of strings.
  std::vector<std::string> texts(std::string_view name);
  /// JSON text; nullopt if it is missing. `null` is a value here.
  std::optional<std::string_view> raw(std::string_view name);
  /// An object that the caller reads itself; nullopt if it is missing.
  std::optional<Fields> object(std::string_view name);
  std::optional<double> number(std::string_view name);
  /// An array of objects that the caller reads itself; empty if it is missing.
  std::vector<Fields> objects(std::string_view name);
  /// An array's elements as JSON text; nullopt if it is missing.
  std::optional<std::vector<std::string_view>> elements(std::string_view name);

  /// Notes an error of this field, which `status` returns unless there was one before.
  void wrong(std::string_view name, std::string what);
  /// The same for an error with a complete text.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] Status status() const;
  /// The same, but unknown fields are ignored.
  [[nodiscard]] Status status_of_known() const { return error_ ? Status(*error_) : Status(); }

 private:
  struct Member {
    std::string name;
    std::string_view value;
  };

  Fields(std::vector<Member> members, std::string where, Nulls nulls)
      : members_(std::move(members)), where_(std::move(where)), nulls_(nulls) {}
  /// Returns the value, and marks `name` as known; empty if it is missing or null.
  std::string_view given(std::string_view name);
  const Member* find(std::string_view name) const;

  std::vector<Member> members_;
  std::string where_;
  Nulls nulls_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace sagabox::wire
