#include "delivery/decide.hpp"
#include "support/places.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {
namespace {

using Moves = std::set<std::pair<std::string, std::string>>;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The first cells of the table under this heading.
Moves moves_under(const std::string& heading) {
  std::ifstream file(sagabox::testing::project_folder() / "docs/hub.md");
  Moves moves;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (!inside || !line.starts_with("| ") || line.starts_with("| from ")) continue;
    std::istringstream cells(line.substr(2));
    std::string from;
    std::string to;
    std::getline(cells, from, '|');
    std::getline(cells, to, '|');
    EXPECT_TRUE(moves.emplace(trimmed(from), trimmed(to)).second) << "twice: " << line;
  }
  return moves;
}

TEST(HubDocument, NamesEveryTransitionOfADelivery) {
  Moves done;
  for (const auto& move : delivery_transitions()) {
    done.emplace(delivery_state_name(move.from), delivery_state_name(move.to));
  }
  EXPECT_EQ(moves_under("A delivery"), done);
}

TEST(HubDocument, NamesEveryTransitionOfAJob) {
  Moves done;
  for (const auto& move : job_transitions()) {
    done.emplace(hub_job_state_name(move.from), hub_job_state_name(move.to));
  }
  EXPECT_EQ(moves_under("A job"), done);
}

TEST(HubDocument, NamesEveryTransitionOfASubscription) {
  Moves done;
  for (const auto& move : subscription_transitions()) {
    done.emplace(subscription_state_name(move.from), subscription_state_name(move.to));
  }
  EXPECT_EQ(moves_under("States of a subscription"), done);
}

}  // namespace
}  // namespace sagabox::delivery
