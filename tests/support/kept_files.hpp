#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <system_error>

namespace sagabox::testing {

/// Removes a test's folder. If the current test has failed, the folder is kept and its path
/// printed: a failure that cannot be repeated is analysed by its files.
inline void remove_unless_failed(const std::filesystem::path& folder) {
  if (::testing::UnitTest::GetInstance()->current_test_info() != nullptr &&
      ::testing::Test::HasFailure()) {
    std::cout << "files are kept in " << folder.string() << "\n";
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace sagabox::testing
