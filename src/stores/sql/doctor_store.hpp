#pragma once

#include "stores/sql/session.hpp"

#include <sagabox/spi/doctor_store.hpp>

#include <set>
#include <string>
#include <vector>

namespace sagabox::sql {

struct DoctorStatements {
  explicit DoctorStatements(Sections& sections);

  Statement indexes;  ///< the names of existing, valid indexes
  Statement audit_head;
};

struct DoctorTableStatements {
  template <class Call>
  void each(Call&& call) {
    call(last_sequence, "last_sequence");
  }

  Statement last_sequence;
};

/// The checks of the doctors of all databases: whether the schema is as the steps made it.
class DoctorStore : public spi::DoctorStore {
 public:
  /// `head_table` is named in the finding when its row is missing.
  DoctorStore(Sections& sections, Sessions& sessions, std::string head_table)
      : sessions_(sessions),
        head_table_(std::move(head_table)),
        statements_(sections),
        of_table_(sections) {}

  Result<std::vector<TableName>> tables() override;
  Result<Sequence> last_sequence(const TableName& table) override;
  Result<bool> is_current() override;
  Result<std::vector<spi::Finding>> findings() override;

 protected:
  using Findings = std::vector<spi::Finding>;
  struct Schema {
    Findings missing;    ///< steps that were not applied; empty: the schema is current
    Findings differing;  ///< steps that were applied by other SQL
    std::vector<TableName> tables;
  };
  virtual Result<Schema> schema() = 0;
  /// The indexes that the steps make for an outbox: `{table}_outbox_id`.
  [[nodiscard]] virtual std::set<std::string> index_names() const = 0;
  /// Checks of one database, which run before the others, also if the schema is not current.
  virtual Status look_first(Session& session, Findings& findings) = 0;
  /// Checks that run after the others.
  virtual Status look_last(Session& session, const Schema& schema, Findings& findings) = 0;

 private:
  Status add_missing_indexes(Session& session, const Schema& known, Findings& findings);
  Status add_audit_head(Session& session, Findings& findings);

  Sessions& sessions_;
  std::string head_table_;
  DoctorStatements statements_;
  PerTable<DoctorTableStatements> of_table_;
};

}  // namespace sagabox::sql
