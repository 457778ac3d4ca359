#pragma once

#include <cstdint>
#include <string>

/// A relay as one writes it by hand for the same table, without an engine around: what comes is
/// handed to a handler that does nothing.
namespace sagabox::bench::by_hand::sqlite {

/// One by one leaves those where they are that could not be handled; a range is for loops that
/// stop at the first of them.
enum class Settle : std::uint8_t { one_by_one, range };

struct DrainLoad {
  std::string path;
  std::int64_t rows = 0;  ///< pending at the start
  int batch = 1000;
  int checkpoint_pages = 1000;
  bool retain = false;  ///< moved to the archive, else deleted
  Settle settle = Settle::one_by_one;
};

/// Reads a batch by place, handles it, settles it in one transaction. Rows a second; throws when it
/// has not settled exactly `rows`.
double owner_loop(const DrainLoad& load);

}  // namespace sagabox::bench::by_hand::sqlite
