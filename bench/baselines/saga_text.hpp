#pragma once

#include <string>
#include <vector>

/// What a saga of ours leaves behind, so that one by hand writes as much.
namespace sagabox::bench::by_hand {

struct HistoryLine {
  std::string event{};
  std::string step{};
  std::string detail{};
};

struct SagaText {
  std::string body{};
  std::vector<HistoryLine> history{};  ///< started, three steps done, completed
};

}  // namespace sagabox::bench::by_hand
