#include "stores/sqlite/result_code.hpp"

#include <gtest/gtest.h>

namespace sagabox::sqlite {
namespace {

TEST(SqliteResultCode, SaysWhetherToTryAgain) {
  for (const int conflict :
       {SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_BUSY_RECOVERY, SQLITE_LOCKED, SQLITE_SCHEMA}) {
    EXPECT_EQ(code_of_result(conflict, ""), Code::storage_conflict) << conflict;
  }
  for (const int trouble : {SQLITE_FULL, SQLITE_IOERR, SQLITE_IOERR_FSYNC, SQLITE_READONLY_DBMOVED,
                            SQLITE_NOMEM, SQLITE_INTERRUPT, SQLITE_CANTOPEN_ISDIR}) {
    EXPECT_EQ(code_of_result(trouble, ""), Code::storage_unavailable) << trouble;
  }
}

TEST(SqliteResultCode, WrongFilesAndTablesAreASettingToMend) {
  EXPECT_EQ(code_of_result(SQLITE_NOTADB, ""), Code::config_invalid);
  EXPECT_EQ(code_of_result(SQLITE_ERROR, "no such table: orders_pending"), Code::config_invalid);
  EXPECT_EQ(code_of_result(SQLITE_ERROR, "table t has no column named c"), Code::config_invalid);
}

TEST(SqliteResultCode, RestIsOurFaultOrTheValues) {
  EXPECT_EQ(code_of_result(SQLITE_CONSTRAINT_CHECK, ""), Code::schema_validation_failed);
  EXPECT_EQ(code_of_result(SQLITE_CORRUPT, ""), Code::unknown_internal);
  EXPECT_EQ(code_of_result(SQLITE_ERROR, "near \"x\": syntax error"), Code::unknown_internal);
}

}  // namespace
}  // namespace sagabox::sqlite
