#pragma once

#include <sagabox/result.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::saga {

/// The value at a path ("id", "rooms.0.price") within JSON text that is known to be valid, as it is
/// written there. An empty path is the whole text; nullopt: nothing is there.
std::optional<std::string_view> json_at(std::string_view json, std::string_view path);

/// The characters of a JSON string, its quotes included, without the escapes.
std::string unescaped(std::string_view json_string);

/// "steps.flight.output.id" or "input.customer", "saga.id" …, between "${" and "}".
struct Reference {
  enum class Root : unsigned char { input, step_output, saga_id, saga_key, saga_tenant };
  Root root = Root::input;
  std::string step{};
  std::string path{};     ///< below the root
  bool optional = false;  ///< written with "?" at its end: null where nothing is there
  std::string text{};     ///< as it is written
};

/// Gives a root's JSON text; nullopt: there is none yet.
using RootValue = std::function<std::optional<std::string_view>(const Reference&)>;

/// JSON with references, read once. A string that is one reference becomes the value itself; a
/// reference within a longer string becomes text. "$${" stands for "${".
class JsonTemplate {
 public:
  static Result<JsonTemplate> parse(std::string_view json);
  [[nodiscard]] Result<std::string> fill(const RootValue& value_of) const;
  [[nodiscard]] const std::vector<Reference>& references() const noexcept { return references_; }

 private:
  friend class TextTemplate;
  struct Part {
    std::string text;           ///< before the reference
    bool whole = false;         ///< the reference is a value of its own, not part of a string
    std::size_t reference = 0;  ///< npos: none, the end
  };
  std::vector<Part> parts_;
  std::vector<Reference> references_;
};

/// A plain text with references, such as a label's value.
class TextTemplate {
 public:
  static Result<TextTemplate> parse(std::string_view text);
  [[nodiscard]] Result<std::string> fill(const RootValue& value_of) const;
  [[nodiscard]] const std::vector<Reference>& references() const noexcept {
    return made_.references_;
  }

 private:
  JsonTemplate made_;
};

}  // namespace sagabox::saga
