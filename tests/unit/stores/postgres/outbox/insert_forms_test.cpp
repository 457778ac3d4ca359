#include "stores/postgres/outbox/insert.hpp"
#include "support/places.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace sagabox::postgres {
namespace {

/// Each form that a write may take, as it goes to the server.
std::string all_forms() {
  constexpr unsigned groups_end = 16;
  std::string text;
  for (unsigned groups = 0; groups < groups_end; ++groups) {
    for (const bool single : {true, false}) {
      for (const auto& [fresh, told] :
           {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
        text += "-- groups " + std::to_string(groups) + (single ? ", one message" : ", a batch") +
                (fresh ? ", fresh ids" : ", known ids") + (told ? "" : ", blind") + "\n";
        text += insert_sql({.groups = groups, .single = single, .fresh = fresh, .told = told});
        text += ";\n\n";
      }
    }
  }
  return text;
}

TEST(InsertForms, AreThoseOfTheFile) {
  const auto path =
      testing::project_folder() / "tests/unit/stores/postgres/outbox/insert_forms.sql";
  std::ifstream file(path);
  std::stringstream kept;
  kept << file.rdbuf();
  EXPECT_TRUE(kept.str() == all_forms())
      << path << " does not have the inserts as they are. They are:\n"
      << all_forms();
}

}  // namespace
}  // namespace sagabox::postgres
