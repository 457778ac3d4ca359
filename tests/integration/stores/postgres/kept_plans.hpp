#pragma once

#include "integration/stores/postgres/world.hpp"
#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/sql_files.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

namespace sagabox::postgres {

/// A section of a .sql file as a session prepares it that keeps its plans.
struct KeptStatement {
  const char* name;
  const char* types;
  const char* values;
};

/// All lines.
inline std::string kept_plan(PGconn* connection, const std::string& call) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexec(connection, ("EXPLAIN EXECUTE " + call).c_str()), &PQclear);
  std::string plan = PQresultErrorMessage(result.get());
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    plan += std::string(PQgetvalue(result.get(), row, 0)) + '\n';
  }
  return plan;
}

/// For statements of sessions that are set up as `Context::for_requests` says, on tables that are
/// empty and were vacuumed: the worst that plans can be made on.
inline void expect_kept_plans_use_indexes(const ConnectSettings& settings,
                                          const std::string& schema,
                                          std::span<const KeptStatement> statements) {
  const auto connection = Connection::open(Context::for_requests(settings)).value();
  auto sections = sql::Sections::parse(sql_files, schema).value();
  sagabox::testing::run_sql(connection->handle(), "SET plan_cache_mode = force_generic_plan");
  for (const auto& one : statements) {
    const auto statement = sections.take(one.name);
    const std::string name(one.name);
    ASSERT_EQ(statement.parts().size(), 1U) << name;
    sagabox::testing::run_sql(connection->handle(), "PREPARE " + name + " (" + one.types + ") AS " +
                                                        statement.parts().front().sql);
    const auto plan = kept_plan(connection->handle(), name + "(" + one.values + ")");
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos) << name << '\n' << plan;
    EXPECT_NE(plan.find("Index"), std::string::npos) << name << '\n' << plan;
  }
}

}  // namespace sagabox::postgres
