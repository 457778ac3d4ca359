#pragma once

#include <sagabox/spi/schema_store.hpp>
#include <sagabox/store.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace sagabox::conformance {

/// A database in which nothing has been made yet.
class SchemaFixture {
 public:
  virtual ~SchemaFixture() = default;
  virtual std::unique_ptr<spi::SchemaStore> schema() = 0;
  virtual std::unique_ptr<Store> store() = 0;
  /// Changes the recorded checksum of a step.
  virtual void record_checksum(const spi::SchemaStep& step, const std::string& checksum) = 0;
  /// Leaves the record as versions before checksums made it.
  virtual void forget_checksums() = 0;
  /// Records a step that no version of today knows.
  virtual void record_step(int number) = 0;
};

struct SchemaKind {
  std::string name;
  std::function<std::unique_ptr<SchemaFixture>()> make;
  bool reshards = false;
  std::function<std::string()> missing = [] { return std::string(); };
};

inline std::ostream& operator<<(std::ostream& out, const SchemaKind& kind) {
  return out << kind.name;
}

/// What the schema of every database must do.
class SchemaConformance : public ::testing::TestWithParam<SchemaKind> {
 protected:
  void SetUp() override;

  std::vector<spi::SchemaStep> status() { return schema_->status().value(); }
  /// Makes the outbox `orders`.
  void make() { schema_->up({.outbox = table_}).value(); }
  /// One message into it.
  void write();
  std::uint64_t pending();

  std::unique_ptr<SchemaFixture> fixture_;
  std::unique_ptr<spi::SchemaStore> schema_;
  TableName table_ = TableName::parse("orders").value();
};

}  // namespace sagabox::conformance
