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

/// What null means as the value of a field.
enum class Nulls : std::uint8_t {
  /// It is not a value of the field, and not a way to leave it out: "topic": null must not be taken
  /// for all topics.
  refused,
  /// As if the field were left out.
  left_out,
};

/// The members of a JSON object, their values as they stand in the text, so that a payload is kept
/// byte for byte. The text outlives it.
///
/// A reader asks for every field it knows, then for `status`: the first that was wrong, by its
/// name and with what would be right, or one that nobody asked for.
class Fields {
 public:
  /// `where` comes before the names of the fields in errors: "messages[3]." or nothing. Error
  /// unless `text` is one JSON object that has no name twice.
  static Result<Fields> parse(std::string_view text, std::string where = {},
                              Nulls nulls = Nulls::refused);
  /// The same for text that is known to be JSON: a part of what was parsed.
  static Result<Fields> split(std::string_view text, std::string where,
                              Nulls nulls = Nulls::refused);

  [[nodiscard]] bool has(std::string_view name) const;
  /// It is there and not null.
  [[nodiscard]] bool has_value(std::string_view name) const;

  /// Empty when it is left out. Null is wrong for this and all below unless they say otherwise.
  std::string text(std::string_view name);
  std::optional<std::string> maybe_text(std::string_view name);
  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t min, std::uint64_t max);
  bool flag(std::string_view name);
  std::optional<WallTime> time(std::string_view name);
  /// An object with strings only.
  Headers texts_by_name(std::string_view name);
  /// An array of strings.
  std::vector<std::string> texts(std::string_view name);
  /// JSON text; nothing when it is left out. `null` is a value here.
  std::optional<std::string_view> raw(std::string_view name);
  /// An object that the caller reads itself; empty when it is left out.
  std::optional<Fields> object(std::string_view name);
  std::optional<double> number(std::string_view name);
  /// An array of objects that the caller reads itself; empty when it is left out.
  std::vector<Fields> objects(std::string_view name);
  /// An array's elements as JSON text; nothing when it is left out.
  std::optional<std::vector<std::string_view>> elements(std::string_view name);

  /// Something is wrong with this field: reported by `status` unless something was before.
  void wrong(std::string_view name, std::string what);
  /// The same for an error that has its text already.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] Status status() const;
  /// The same; fields that are not known are ignored.
  [[nodiscard]] Status status_of_known() const { return error_ ? Status(*error_) : Status(); }

 private:
  struct Member {
    std::string name;
    std::string_view value;
  };

  Fields(std::vector<Member> members, std::string where, Nulls nulls)
      : members_(std::move(members)), where_(std::move(where)), nulls_(nulls) {}
  /// The value, and `name` counts as known; empty when it is left out or a null.
  std::string_view given(std::string_view name);
  const Member* find(std::string_view name) const;

  std::vector<Member> members_;
  std::string where_;
  Nulls nulls_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace sagabox::wire
