#include "stores/postgres/outbox/decode.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sagabox::postgres {
namespace {

using Ids = std::vector<std::uint64_t>;

constexpr std::uint64_t epoch = std::uint64_t{1} << 32U;

std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int at = bytes - 1; at >= 0; --at) text += static_cast<char>(value >> (8 * at) & 0xFFU);
  return text;
}

/// A pg_snapshot as the server sends it.
std::string snapshot(std::uint64_t xmin, std::uint64_t xmax, const Ids& in_progress) {
  auto text = big_endian(in_progress.size(), 4) + big_endian(xmin, 8) + big_endian(xmax, 8);
  for (const auto id : in_progress) text += big_endian(id, 8);
  return text;
}

Ids in_progress(const std::optional<spi::Horizon>& horizon) {
  Ids ids;
  for (const auto id : horizon.value().in_progress) ids.push_back(id.value);
  return ids;
}

TEST(HorizonOfASnapshot, NamesThoseInProgressAndThoseThatCameAfterTheLastOneThatEnded) {
  const auto horizon = decode_horizon(snapshot(7, 11, {7, 9}), 13, "");
  EXPECT_EQ(in_progress(horizon), (Ids{7, 9, 11, 12}));
  EXPECT_EQ(horizon->next.value, 13U);
}

TEST(HorizonOfASnapshot, LeavesOutWhoHoldsAShard) {
  EXPECT_EQ(in_progress(decode_horizon(snapshot(7, 11, {7, 9}), 13, "9,12,3")), (Ids{7, 11}));
  EXPECT_EQ(in_progress(decode_horizon(snapshot(7, 11, {7, 9}), 13, "7")), (Ids{9, 11, 12}));
  EXPECT_EQ(in_progress(decode_horizon(snapshot(7, 11, {7, 9}), 13, "70,1")), (Ids{7, 9, 11, 12}));
}

TEST(HorizonOfASnapshot, HoldersAreKnownByTheLowerHalfOfTheirNumber) {
  const auto whole = snapshot(epoch + 7, epoch + 9, {epoch + 7});
  EXPECT_EQ(in_progress(decode_horizon(whole, 9, "7")), Ids{});
  EXPECT_EQ(in_progress(decode_horizon(whole, 9, "8")), Ids{epoch + 7});
}

TEST(HorizonOfASnapshot, GoesOnWhereTheLowerHalfBeginsAgain) {
  const auto last = epoch - 1;
  EXPECT_EQ(in_progress(decode_horizon(snapshot(last, last, {}), 1, "")), (Ids{last, epoch}));
  EXPECT_EQ(in_progress(decode_horizon(snapshot(last, last, {}), 1, "0")), Ids{last});
}

TEST(HorizonOfASnapshot, TooManyAreNotNamed) {
  EXPECT_TRUE(decode_horizon(snapshot(7, 7, {}), 7 + unnamed_transactions_max, ""));
  EXPECT_FALSE(decode_horizon(snapshot(7, 7, {}), 8 + unnamed_transactions_max, ""));
}

}  // namespace
}  // namespace sagabox::postgres
