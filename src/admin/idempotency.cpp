#include "admin/checks.hpp"
#include "core/base64.hpp"
#include "core/text.hpp"

#include <sagabox/admin.hpp>

#include <utility>

namespace sagabox {
namespace {

constexpr std::uint32_t batch_rows = 1000;

/// The last key of a page. Its parts are printable, so a newline can separate them.
std::string cursor_text(const IdempotencyKey& last) {
  std::string text;
  append_base64(last.tenant + "\n" + last.consumer + "\n" + last.key, text);
  return text;
}

Result<IdempotencyKey> cursor_place(std::string_view text) {
  if (text.empty()) return IdempotencyKey{.tenant = {}};
  const auto place = from_base64(text);
  const auto first = place ? place->find('\n') : std::string::npos;
  const auto second = first == std::string::npos ? first : place->find('\n', first + 1);
  if (second == std::string::npos) {
    return admin::wrong("cursor: " + quoted(text) + " is not one; give `next` of the page before");
  }
  return IdempotencyKey{.tenant = place->substr(0, first),
                        .consumer = place->substr(first + 1, second - first - 1),
                        .key = place->substr(second + 1)};
}

}  // namespace

Result<spi::IdempotencyStore*> Admin::idempotency_store() const {
  if (auto* const keys = store_->idempotency()) return keys;
  return Error{Code::tx_invalid_state, store_->name() + " keeps no idempotency keys"};
}

Result<IdempotencyPage> Admin::idempotency(const IdempotencyQuery& query) const {
  const auto keys = idempotency_store();
  if (!keys.ok()) return keys.error();
  if (auto status = admin::check_rows("rows_max", query.rows_max, page_rows_max); !status.ok()) {
    return status.error();
  }
  const auto tenant = limited(query.tenant);
  if (!tenant.ok()) return tenant.error();
  auto after = cursor_place(query.cursor);
  if (!after.ok()) return after.error();
  auto rows = (*keys)->list({.tenant = *tenant,
                             .consumer = query.consumer,
                             .state = query.state,
                             .after = *std::move(after),
                             .rows_max = query.rows_max});
  if (!rows.ok()) return rows.error();
  IdempotencyPage page{.rows = *std::move(rows), .next = {}};
  if (page.rows.size() == query.rows_max) page.next = cursor_text(page.rows.back().key);
  return page;
}

Result<std::optional<IdempotencyRecord>> Admin::idempotency_record(
    const IdempotencyKey& key) const {
  const auto keys = idempotency_store();
  if (!keys.ok()) return keys.error();
  if (auto status = key.check(); !status.ok()) return status.error();
  if (auto tenant = limited(key.tenant); !tenant.ok()) return tenant.error();
  return (*keys)->get(key);
}

Result<bool> Admin::forget_idempotency(const IdempotencyKey& key, const std::string& note) {
  const auto keys = idempotency_store();
  if (!keys.ok()) return keys.error();
  if (auto status = key.check(); !status.ok()) return status.error();
  if (auto tenant = limited(key.tenant); !tenant.ok()) return tenant.error();
  if (!note.empty()) {
    if (auto status = admin::check_text("note", note, note_length_max); !status.ok()) {
      return status.error();
    }
  }
  const auto removed = (*keys)->purge({.key = key, .actor = options_.actor, .note = note});
  if (!removed.ok()) return removed.error();
  options_.log->log(LogLevel::info, "idempotency key forgotten",
                    {{"consumer", std::string_view(key.consumer)},
                     {"actor", std::string_view(options_.actor)},
                     {"rows", *removed}});
  return *removed > 0;
}

Result<std::uint64_t> Admin::purge_idempotency() {
  const auto keys = idempotency_store();
  if (!keys.ok()) return keys.error();
  if (auto status = everybodys("a purge"); !status.ok()) return status.error();
  std::uint64_t all = 0;
  for (;;) {
    const auto removed = (*keys)->purge({.rows_max = batch_rows, .actor = options_.actor});
    if (!removed.ok()) return removed.error();
    all += *removed;
    if (*removed < batch_rows) return all;
  }
}

}  // namespace sagabox
