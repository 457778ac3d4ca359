#include "stores/sqlite/expected.hpp"

#include "stores/sqlite/result_code.hpp"

namespace sagabox::sqlite {

Status Expected::introduce(const Link& link) {
  if (known_to_ == link.handle()) return {};
  const int made = sqlite3_create_function_v2(link.handle(), "sagabox_expected", 2,
                                              SQLITE_UTF8 | SQLITE_DIRECTONLY, this, &answer,
                                              nullptr, nullptr, nullptr);
  if (made != SQLITE_OK) return error_of(link.handle(), made);
  known_to_ = link.handle();
  return {};
}

void Expected::answer(sqlite3_context* context, int, sqlite3_value** values) {
  auto* self = static_cast<Expected*>(sqlite3_user_data(context));
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[1]));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values[1]));
  const auto id = text == nullptr ? std::string_view() : std::string_view(text, size);
  sqlite3_result_int(context, self->is_expected(sqlite3_value_int64(values[0]), id) ? 1 : 0);
}

bool Expected::is_expected(Place place, std::string_view id) {
  const auto at = static_cast<std::size_t>(place - first_);
  if (place < first_ || at >= items_.size() || items_[at]->id.view() != id) return false;
  last_found_ = place;
  return true;
}

}  // namespace sagabox::sqlite
