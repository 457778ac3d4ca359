#include "admin/checks.hpp"
#include "admin/cursor.hpp"
#include "core/text.hpp"

#include <sagabox/admin.hpp>

#include <utility>

namespace sagabox {
namespace {

using admin::check_rows;

}  // namespace

Result<Admin> Admin::open(Store& store, AdminOptions options) {
  if (auto status = admin::check_options(options); !status.ok()) return status.error();
  return Admin(store, std::move(options));
}

Status Admin::everybodys(std::string_view act) const { return admin::everybodys(options_, act); }

Result<Admin::Whose> Admin::limited(const Whose& tenant) const {
  return admin::limited(options_, tenant);
}

Result<MessageFilter> Admin::checked(const MessageFilter& filter) const {
  if (auto status = admin::check_filter(filter); !status.ok()) return status.error();
  MessageFilter checked = filter;
  if (!options_.tenant) return checked;
  auto tenant = limited(filter.tenant);
  if (!tenant.ok()) return Error{tenant.error().code, "filter " + tenant.error().message};
  checked.tenant = *std::move(tenant);
  return checked;
}

void Admin::tell(const AuditEvent& event) const noexcept {
  if (options_.audit->wants(event.kind)) options_.audit->record(event);
}

Result<spi::TableStats> Admin::stats(const TableName& table) const {
  if (auto status = everybodys("the statistics of a table"); !status.ok()) return status.error();
  return store_->outbox_admin().stats(table);
}

Result<MessagePage> Admin::list(const TableName& table, const ListQuery& query) const {
  if (auto rows = check_rows("rows_max", query.rows_max, page_rows_max); !rows.ok()) {
    return rows.error();
  }
  auto filter = checked(query.filter);
  if (!filter.ok()) return filter.error();
  const auto mark = admin::list_mark(table, query.state, *filter);
  const auto after = admin::cursor_place(mark, query.cursor);
  if (!after.ok()) return after.error();
  auto reply = store_->outbox_admin().list({.table = table,
                                            .state = query.state,
                                            .filter = *std::move(filter),
                                            .after = *after,
                                            .rows_max = query.rows_max,
                                            .with_history = query.with_history});
  if (!reply.ok()) return reply.error();
  MessagePage page{std::move(reply->rows), {}};
  if (!reply->exhausted && !page.rows.empty()) {
    page.next = admin::cursor_text(mark, page.rows.back().sequence);
  }
  return page;
}

Result<std::uint64_t> Admin::count(const TableName& table, MessageState state,
                                   const MessageFilter& filter) const {
  const auto limited = checked(filter);
  if (!limited.ok()) return limited.error();
  return store_->outbox_admin().count(table, state, *limited);
}

Result<std::optional<MessageRecord>> Admin::inspect(const TableName& table, const MessageId& id,
                                                    PayloadToo payload, const Whose& tenant,
                                                    std::optional<MessageState> state) const {
  auto whose = limited(tenant);
  if (!whose.ok()) return whose.error();
  return store_->outbox_admin().find({.table = table,
                                      .id = id,
                                      .tenant = *std::move(whose),
                                      .with_payload = payload == PayloadToo::yes,
                                      .state = state});
}

Result<std::vector<spi::Stray>> Admin::strays(const TableName& table,
                                              std::uint32_t rows_max) const {
  if (auto status = everybodys("a look for strays"); !status.ok()) return status.error();
  if (auto rows = check_rows("rows_max", rows_max, page_rows_max); !rows.ok()) return rows.error();
  return store_->outbox_admin().strays(table, rows_max);
}

}  // namespace sagabox
