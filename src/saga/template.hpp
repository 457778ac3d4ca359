#pragma once

#include <sagabox/result.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::saga {

/// What stands between "${" and "}": "input.customer", "steps.flight.output.id", "saga.id",
/// "saga.key" or "saga.tenant". With "?" at its end it is null where nothing is there.
struct Reference {
  enum class Root : unsigned char { input, step_output, saga_id, saga_key, saga_tenant };
  Root root = Root::input;
  std::string step{};
  std::string path{};  ///< below the root
  bool optional = false;
  std::string text{};  ///< as it is written
};

/// Gives a root's JSON text; nullopt: there is none.
using RootValue = std::function<std::optional<std::string_view>(const Reference&)>;

/// A text with references, cut into pieces once.
class TextTemplate {
 public:
  /// CONFIG.INVALID says what is wrong with a reference. "$${" stands for "${".
  static Result<TextTemplate> parse(std::string_view text);
  /// References to strings, numbers and booleans become text. SCHEMA.VALIDATION_FAILED says which
  /// reference leads to nothing, or to an object or array.
  [[nodiscard]] Result<std::string> fill(const RootValue& value_of) const;
  [[nodiscard]] const std::vector<Reference>& references() const noexcept { return references_; }

 private:
  friend class JsonTemplate;
  struct Piece {
    std::string text{};                    ///< before the reference
    std::optional<std::size_t> reference;  ///< null: this is the end
    bool whole = false;  ///< the reference stands for a value, not for a part of a string
  };
  std::vector<Piece> pieces_;
  std::vector<Reference> references_;
};

/// JSON with references in its strings. A string that is one reference becomes the value itself,
/// spelled as it was; in a longer string it becomes text.
class JsonTemplate {
 public:
  static Result<JsonTemplate> parse(std::string_view json);
  [[nodiscard]] Result<std::string> fill(const RootValue& value_of) const;
  /// What this step did not give is null from now on.
  void allow_absent(std::string_view step);
  [[nodiscard]] const std::vector<Reference>& references() const noexcept {
    return made_.references_;
  }

 private:
  TextTemplate made_;
};

}  // namespace sagabox::saga
