#include "assembly/settings_of_limits.hpp"

namespace sagabox::assembly {
namespace {

using Parts = std::vector<Setting>;

constexpr auto window_max = "3650d";

}  // namespace

Parts limits_parts() {
  Parts budget;
  budget.push_back(value<Budget>("messages", &Budget::messages, "so many in each window")
                       .between("1", "1000000000000"));
  budget.push_back(value<Budget>("window", &Budget::window, "begins with the first message")
                       .between("1ms", window_max));
  using L = Limits;
  Parts parts;
  parts.push_back(
      value<L>("rate", &L::rate, "messages a second, evenly").between("1", "1000000000"));
  parts.push_back(value<L>("burst", &L::burst, "at once after a rest; default: 0.1 s worth")
                      .between("1", "1000000000"));
  parts.push_back(value<L>("concurrency", &L::concurrency, "under way at the same time")
                      .between("1", "1000000000"));
  parts.push_back(
      section<L>("budget", &L::budget, std::move(budget), "so many in a stretch of time"));
  return parts;
}

}  // namespace sagabox::assembly
