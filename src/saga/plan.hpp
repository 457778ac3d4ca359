#pragma once

#include "saga/target.hpp"
#include "saga/template.hpp"

#include <sagabox/saga_definition.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// Steps that start together: [first, last).
struct Group {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// A definition that was checked, with everything looked up that running it needs. Never changed;
/// copies share it.
class Plan {
 public:
  struct Step {
    SagaStep given;
    Target action;
    Target compensation;
    std::optional<JsonTemplate> input;
    std::optional<JsonTemplate> compensation_input;
    std::size_t group = 0;
    RetryPolicy compensation_retry;
    Duration attempt_timeout{};
  };
  struct Label {
    std::string name;
    TextTemplate value;
  };

  static Result<Plan> make(SagaDefinition definition);

  [[nodiscard]] const SagaDefinition& definition() const noexcept { return parts_->definition; }
  [[nodiscard]] const Digest& digest() const noexcept { return parts_->digest; }
  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return parts_->steps; }
  [[nodiscard]] const Step& step(std::size_t index) const { return parts_->steps.at(index); }
  [[nodiscard]] const std::vector<Group>& groups() const noexcept { return parts_->groups; }
  [[nodiscard]] std::optional<std::size_t> pivot() const noexcept { return parts_->pivot; }
  [[nodiscard]] const std::optional<TextTemplate>& isolate() const noexcept {
    return parts_->isolate;
  }
  [[nodiscard]] const std::vector<Label>& labels() const noexcept { return parts_->labels; }
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view step) const noexcept;

 private:
  struct Parts {
    SagaDefinition definition;
    Digest digest{};
    std::vector<Step> steps;
    std::vector<Group> groups;
    std::optional<std::size_t> pivot;
    std::optional<TextTemplate> isolate;
    std::vector<Label> labels;
  };
  explicit Plan(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

/// Every problem of a definition; empty: none. `step` and `field` say where, so that a reader of
/// files can add the line.
struct DefinitionProblem {
  std::optional<std::size_t> step;
  std::string field{};  ///< as it is spelled in YAML; empty: the step or definition as a whole
  std::string message;
};
std::vector<DefinitionProblem> problems_of(const SagaDefinition& definition);

}  // namespace sagabox::saga
