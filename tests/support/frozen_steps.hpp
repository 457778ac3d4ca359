#pragma once

#include "stores/schema_steps.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

namespace sagabox::testing {

/// A released step of an engine: SHA-256 of its up and of its down SQL, the shared part followed by
/// that of an outbox.
struct FrozenStep {
  std::string_view engine;
  int number;
  std::string_view up;
  std::string_view down;
};

/// Checks that each step of these engines is in `frozen`, in order, and has not changed since.
inline void expect_frozen(std::span<const schema::Engine> engines,
                          std::span<const FrozenStep> frozen,
                          std::string (*reference)(std::string_view sql)) {
  const auto both = [&](std::string_view shared, std::string_view table) {
    return schema::checksum(reference(shared) + '\0' + reference(table));
  };
  std::size_t at = 0;
  for (const auto& engine : engines) {
    int number = 0;
    for (const auto& step : engine.steps) {
      const auto what = std::string(engine.name) + " step " + std::to_string(step.number);
      EXPECT_EQ(step.number, ++number) << what << ": numbers ascend from 1 without a gap";
      const auto up = both(step.up, step.table_up);
      const auto down = both(step.down, step.table_down);
      ASSERT_LT(at, frozen.size())
          << what << " is new: freeze it when it is released\n{\"" << engine.name << "\", "
          << step.number << ", \"" << up << "\", \"" << down << "\"},";
      EXPECT_EQ(engine.name, frozen[at].engine);
      EXPECT_EQ(step.number, frozen[at].number);
      EXPECT_EQ(up, frozen[at].up)
          << what << " was released and is in databases: make another step instead of changing it";
      EXPECT_EQ(down, frozen[at].down) << what << " was released: its way back has changed";
      ++at;
    }
  }
  EXPECT_EQ(at, frozen.size()) << "a released step is gone";
}

}  // namespace sagabox::testing
