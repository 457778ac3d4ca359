#include "stores/sqlite/doctor_store.hpp"

#include <gtest/gtest.h>

namespace sagabox::sqlite {
namespace {

constexpr std::uintmax_t mebibyte = 1U << 20U;

TEST(DiskFinding, AFullDiskIsAnErrorAndANearlyFullOneAWarning) {
  EXPECT_FALSE(disk_finding(256 * mebibyte));
  EXPECT_EQ(disk_finding(255 * mebibyte).value().severity, Severity::warning);
  const auto full = disk_finding(3 * mebibyte).value();
  EXPECT_EQ(full.severity, Severity::error);
  EXPECT_EQ(full.what,
            "the disk of the file is full: 3 MiB left; without room nothing is written and no "
            "result is stored");
}

}  // namespace
}  // namespace sagabox::sqlite
