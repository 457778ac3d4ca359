#include "stores/sql/doctor_store.hpp"

#include "core/text.hpp"
#include "stores/schema_findings.hpp"

#include <utility>

namespace sagabox::sql {

DoctorStatements::DoctorStatements(Sections& sections)
    : indexes(sections.take("doctor_indexes")), audit_head(sections.take("doctor_audit_head")) {}

Result<std::vector<TableName>> DoctorStore::tables() {
  auto known = schema();
  if (!known.ok()) return known.error();
  return std::move(known->tables);
}

Result<Sequence> DoctorStore::last_sequence(const TableName& table) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(of_table_.of(table).last_sequence);
  if (!rows.ok()) return rows.error();
  return Sequence{rows->empty() ? 0 : rows->front().natural(0)};
}

Result<bool> DoctorStore::is_current() {
  const auto known = schema();
  if (!known.ok()) return known.error();
  return known->missing.empty();
}

Status DoctorStore::add_missing_indexes(Session& session, const Schema& known, Findings& findings) {
  auto rows = session.run(statements_.indexes);
  if (!rows.ok()) return rows.error();
  std::set<std::string> valid;
  for (const auto row : *rows) valid.emplace(row.text(0));
  for (const auto& table : known.tables) {
    for (const auto& pattern : index_names()) {
      const auto name = replaced(pattern, "{table}", table.str());
      if (!valid.contains(name)) findings.push_back(schema::missing_index(table.str(), name));
    }
  }
  return {};
}

Status DoctorStore::add_audit_head(Session& session, Findings& findings) {
  auto rows = session.run(statements_.audit_head);
  if (!rows.ok()) return rows.error();
  if (rows->front().integer(0) == 0) findings.push_back(schema::missing_audit_head(head_table_));
  return {};
}

Result<std::vector<spi::Finding>> DoctorStore::findings() {
  const auto known = schema();
  if (!known.ok()) return known.error();
  auto findings = known->missing;
  findings.insert(findings.end(), known->differing.begin(), known->differing.end());
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  if (auto added = look_first(**session, findings); !added.ok()) return added.error();
  if (known->missing.empty()) {
    auto added = add_missing_indexes(**session, *known, findings);
    if (!added.ok()) return added.error();
    if (added = add_audit_head(**session, findings); !added.ok()) return added.error();
  }
  if (auto added = look_last(**session, *known, findings); !added.ok()) return added.error();
  return findings;
}

}  // namespace sagabox::sql
