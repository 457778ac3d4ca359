#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/sql/doctor_store.hpp"

#include <set>
#include <string>

namespace sagabox::postgres {

struct LeftoverStatements {
  template <class Call>
  void each(Call&& call) {
    call(leftovers, "doctor_leftovers");
  }

  sql::Statement leftovers;
};

/// Checks the schema, the indexes, the server's settings, and what keeps the server from vacuuming.
class PostgresDoctor final : public sql::DoctorStore {
 public:
  PostgresDoctor(sql::Sections& sections, Context& context)
      : sql::DoctorStore(sections, context.sessions, "audit_head"),
        context_(context),
        settings_(sections.take("doctor_settings")),
        holders_(sections.take("doctor_holders")),
        rights_(sections.take("doctor_rights")),
        of_table_(sections) {}

 private:
  Result<Schema> schema() override;
  [[nodiscard]] std::set<std::string> index_names() const override;
  /// Checks the server's settings.
  Status look_first(sql::Session& session, Findings& findings) override;
  Status look_last(sql::Session& session, const Schema& schema, Findings& findings) override;
  Status add_holders(sql::Session& session, Findings& findings);
  Status add_leftovers(sql::Session& session, const TableName& table, Findings& findings);
  Status add_rights(sql::Session& session, Findings& findings);

  Context& context_;
  sql::Statement settings_;
  sql::Statement holders_;
  sql::Statement rights_;
  sql::PerTable<LeftoverStatements> of_table_;
};

}  // namespace sagabox::postgres
