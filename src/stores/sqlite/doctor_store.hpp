#pragma once

#include "stores/sql/doctor_store.hpp"
#include "stores/sqlite/context.hpp"

#include <set>
#include <string>

namespace sagabox::sqlite {

/// The finding for a disk with this many bytes left; nullopt if they are enough.
std::optional<spi::Finding> disk_finding(std::uintmax_t available);

/// Checks the schema, the indexes, and the file itself.
class SqliteDoctor final : public sql::DoctorStore {
 public:
  SqliteDoctor(sql::Sections& sections, Context& context)
      : sql::DoctorStore(sections, context.sessions, "sagabox_audit_head"),
        context_(context),
        journal_(sections.take("doctor_journal")),
        pages_(sections.take("doctor_pages")),
        check_(sections.take("doctor_check")) {}

 private:
  Result<Schema> schema() override;
  [[nodiscard]] std::set<std::string> index_names() const override;
  Status look_first(sql::Session&, Findings&) override { return {}; }
  Status look_last(sql::Session& session, const Schema& schema, Findings& findings) override;

  Context& context_;
  sql::Statement journal_;
  sql::Statement pages_;
  sql::Statement check_;
};

}  // namespace sagabox::sqlite
