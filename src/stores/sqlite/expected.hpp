#pragma once

#include "stores/sqlite/link.hpp"
#include "stores/sqlite/places.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <optional>
#include <span>

namespace sagabox::sqlite {

/// Settlements of rows that lie side by side, and what SQLite asks about each row it finds there:
/// `sagabox_expected(place, id)` is true where the row is the one that was meant. So one statement
/// settles them all, and still none that has another id. Of one connection, used by one thread at a
/// time.
class Expected {
 public:
  using Neighbours = std::span<const spi::Settlement* const>;

  Expected() = default;
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

  /// Makes the function known to a connection; for the one it is known to already that is nothing.
  Status introduce(const Link& link);

  /// From here on these are expected, the first of them at `first` and the others behind it.
  void expect(Place first, Neighbours items) {
    first_ = first;
    items_ = items;
    last_found_.reset();
  }
  void expect_nothing() { expect(0, {}); }
  /// The highest place that SQLite asked about and that had the right id.
  [[nodiscard]] std::optional<Place> last_found() const noexcept { return last_found_; }

 private:
  static void answer(sqlite3_context* context, int, sqlite3_value** values);
  bool is_expected(Place place, std::string_view id);

  sqlite3* known_to_ = nullptr;
  Place first_ = 0;
  Neighbours items_;
  std::optional<Place> last_found_;
};

}  // namespace sagabox::sqlite
