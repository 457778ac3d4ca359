#include "cli/demo/keys.hpp"

#include <gtest/gtest.h>

namespace sagabox::cli {
namespace {

using Keys = std::vector<Key>;

TEST(DemoKeys, EveryKeyIsOneLetter) {
  EXPECT_EQ(keys_in("drpq"), (Keys{Key::dead_letters, Key::replay, Key::pause, Key::quit}));
  EXPECT_EQ(keys_in("pp"), (Keys{Key::pause, Key::pause}));
}

TEST(DemoKeys, OthersMeanNothing) {
  EXPECT_EQ(keys_in(""), Keys{});
  EXPECT_EQ(keys_in(std::string_view("DRPQ \n\t\0\x04x7?ö", 15)), Keys{});
  EXPECT_EQ(keys_in("xpx"), Keys{Key::pause});
}

TEST(DemoKeys, LettersOfEscapeSequencesAreNoKeys) {
  EXPECT_EQ(keys_in("\x1b[A"), Keys{});
  EXPECT_EQ(keys_in("\x1b[d"), Keys{}) << "shift and an arrow, on some terminals";
  EXPECT_EQ(keys_in("\x1b[1;5qp"), Keys{Key::pause});
  EXPECT_EQ(keys_in("\x1bOpq"), Keys{Key::quit});
  EXPECT_EQ(keys_in("\x1bqd"), Keys{Key::dead_letters}) << "Alt and a letter";
  EXPECT_EQ(keys_in("\x1b[12"), Keys{});
  EXPECT_EQ(keys_in("\x1b"), Keys{});
  EXPECT_EQ(keys_in("\x1b\x1b[Ar"), Keys{Key::replay});
}

}  // namespace
}  // namespace sagabox::cli
