#include "stores/postgres/driver/sqlstate.hpp"

#include "stores/postgres/driver/connection.hpp"
#include "stores/postgres/driver/names.hpp"

#include <gtest/gtest.h>

namespace sagabox::postgres {
namespace {

TEST(Sqlstate, HasOurCode) {
  EXPECT_EQ(code_of_sqlstate("40001"), Code::storage_conflict);
  EXPECT_EQ(code_of_sqlstate("40P01"), Code::storage_conflict);
  EXPECT_EQ(code_of_sqlstate("55P03"), Code::storage_conflict);
  EXPECT_EQ(code_of_sqlstate("23505"), Code::storage_conflict);
  EXPECT_EQ(code_of_sqlstate("08006"), Code::storage_unavailable);
  EXPECT_EQ(code_of_sqlstate("57P01"), Code::storage_unavailable);
  EXPECT_EQ(code_of_sqlstate("57P03"), Code::storage_unavailable);
  EXPECT_EQ(code_of_sqlstate("57014"), Code::storage_unavailable);
  EXPECT_EQ(code_of_sqlstate("25006"), Code::storage_unavailable);
  EXPECT_EQ(code_of_sqlstate("42501"), Code::config_invalid);
  EXPECT_EQ(code_of_sqlstate("25P02"), Code::tx_invalid_state);
  EXPECT_EQ(code_of_sqlstate("XX000"), Code::unknown_internal);
}

TEST(Sqlstate, OnlyWhatMayHaveHappenedIsInDoubt) {
  EXPECT_EQ(lost_connection("gone", Effect::none).code, Code::storage_unavailable);
  EXPECT_EQ(lost_connection("gone", Effect::commits).code, Code::storage_in_doubt);
}

TEST(PublicName, LeavesOutWhoConnectsAndHow) {
  EXPECT_EQ(public_name("postgres://bob:pw@db.example:5433/orders?sslmode=require").value(),
            "postgres://db.example:5433/orders");
  EXPECT_EQ(public_name("host=db password=pw dbname=orders").value(), "postgres://db/orders");
  EXPECT_FALSE(public_name("postgres://bob:pw@[db").ok());
  EXPECT_EQ(public_name("host=@abstract").value(), "postgres://@abstract");
  // Parts of the password would be shown as a host or a port.
  for (const auto* url : {"postgres://bob:p@hunter2@db/x", "postgres://bob:hunter2/x@db/x",
                          "host=db port=hunter2", "postgres://bob:hunter2@db:hunter2/x"}) {
    const auto refused = public_name(url);
    ASSERT_FALSE(refused.ok()) << url;
    EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
  }
}

TEST(Names, FillIntoQuotes) {
  const auto names = Names::parse("audit2").value();
  const auto table = TableName::parse("Orders").value();
  EXPECT_EQ(names.fill(R"(FROM "{schema}"."{table}_outbox", "{schema}".worker)", table),
            R"(FROM "audit2"."Orders_outbox", "audit2".worker)");
  EXPECT_FALSE(Names::parse("a\"b").ok());
  EXPECT_FALSE(Names::parse("").ok());
}

}  // namespace
}  // namespace sagabox::postgres
