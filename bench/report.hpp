#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::bench {

/// What a figure should be. A goal, not a test: machines differ.
struct Goal {
  enum class Kind : std::uint8_t { at_least, below, ratio_at_least, ratio_at_most };
  Kind kind = Kind::at_least;
  double value = 0;
};

/// One measured value beside the hand-written one of the same run.
struct Figure {
  std::string name;  ///< "core.dispatch"
  double value = 0;
  std::string unit;  ///< "messages/s", "us"
  double baseline = 0;
  std::string baseline_name;
  std::optional<Goal> goal{};

  [[nodiscard]] double ratio() const { return baseline > 0 ? value / baseline : 0; }
};

/// Figures as they come in: a table for people, or one JSON object a line.
class Report {
 public:
  enum class Form : std::uint8_t { table, json };
  Report(Form form, std::uint32_t repeats);

  void add(const Figure& figure);
  /// A figure that cannot be measured here.
  void skip(const std::string& name, const std::string& why);
  /// What led to a figure; for people, so never between JSON lines.
  void note(const std::string& line);

 private:
  Form form_;
};

}  // namespace sagabox::bench
