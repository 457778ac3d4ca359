#include "saga/decide.hpp"
#include "support/places.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sagabox::saga {
namespace {

using Row = std::vector<std::string>;

/// The cells of the table under this heading.
std::vector<Row> table_under(const std::string& heading) {
  std::ifstream file(sagabox::testing::project_folder() / "docs/saga-states.md");
  std::vector<Row> rows;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (!inside || !line.starts_with("| ")) continue;
    Row row;
    std::istringstream cells(line.substr(2));
    for (std::string cell; std::getline(cells, cell, '|');) {
      const auto end = cell.find_last_not_of(' ');
      const auto begin = cell.find_first_not_of(' ');
      row.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
    }
    rows.push_back(row);
  }
  if (!rows.empty()) rows.erase(rows.begin());  // the heading of the table
  return rows;
}

TEST(SagaStatesDocument, NamesEveryTransitionOfASaga) {
  std::set<std::pair<std::string, std::string>> said;
  for (const auto& row : table_under("The saga")) said.emplace(row.at(0), row.at(1));
  std::set<std::pair<std::string, std::string>> done;
  for (const auto& move : saga_transitions()) {
    done.emplace(saga_state_name(move.from), saga_state_name(move.to));
  }
  EXPECT_EQ(said, done);
}

TEST(SagaStatesDocument, NamesEveryStateOfAStepAndWhatFollowsIt) {
  std::map<std::string, std::string> said;
  for (const auto& row : table_under("A step")) said[row.at(0)] = row.at(2);
  std::map<std::string, std::string> done;
  for (std::size_t i = 0; i < saga_step_state_count; ++i) {
    done[std::string(saga_step_state_name(static_cast<SagaStepState>(i)))] = "";
  }
  for (const auto& move : step_transitions()) {
    auto& after = done[std::string(saga_step_state_name(move.from))];
    after += (after.empty() ? "" : ", ") + std::string(saga_step_state_name(move.to));
  }
  for (auto& [state, after] : done) {
    if (after.empty()) after = "–";
  }
  EXPECT_EQ(said, done);
}

}  // namespace
}  // namespace sagabox::saga
