#pragma once

#include "stores/sqlite/link.hpp"
#include "stores/sqlite/places.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <optional>
#include <span>

namespace sagabox::sqlite {

/// Settlements of adjacent rows, checked by SQLite for each row it finds: `sagabox_expected(place,
/// id)` is true if the row is the intended one. So one statement settles them all, but never a row
/// that has another id. Belongs to one connection, used by one thread at a time.
class Expected {
 public:
  using Neighbours = std::span<const spi::Settlement* const>;

  Expected() = default;
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

  /// Registers the function with a connection; no-op if it is registered already.
  Status introduce(const Link& link);

  /// From now on these are expected, the first of them at `first` and the others behind it.
  void expect(Place first, Neighbours items) {
    first_ = first;
    items_ = items;
    last_found_.reset();
  }
  void expect_nothing() { expect(0, {}); }
  /// The highest place that SQLite asked about and whose id matched.
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
