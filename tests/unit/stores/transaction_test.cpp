#include <sagabox/spi/transaction.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sagabox {
namespace {

using Told = std::vector<std::string>;

class Recorder final : public TransactionObserver {
 public:
  Recorder(std::string name, Told& told) : name_(std::move(name)), told_(told) {}
  void committed() noexcept override { told_.push_back(name_ + " committed"); }
  void rolled_back() noexcept override { told_.push_back(name_ + " rolled back"); }
  void abandoned() noexcept override { told_.push_back(name_ + " abandoned"); }

 private:
  std::string name_;
  Told& told_;
};

class PlainTransaction final : public Transaction, private OutboxWriter {
 public:
  [[nodiscard]] bool is_open() const override { return true; }
  OutboxWriter& outbox() override { return *this; }

 private:
  Result<std::vector<Written>> insert(const TableName&,
                                      std::span<const std::shared_ptr<const Message>>) override {
    return std::vector<Written>{};
  }
};

TEST(Transaction, TellsItsObserversInOrder) {
  Told told;
  PlainTransaction tx;
  tx.observe(std::make_unique<Recorder>("a", told));
  tx.observe(std::make_unique<Recorder>("b", told));
  tx.committed();
  EXPECT_EQ(told, (Told{"a committed", "b committed"}));
}

TEST(Transaction, OnlyTheFirstVerdictCounts) {
  Told told;
  {
    PlainTransaction tx;
    tx.observe(std::make_unique<Recorder>("a", told));
    tx.rolled_back();
    tx.committed();
    tx.abandoned();
  }
  EXPECT_EQ(told, (Told{"a rolled back"}));
}

TEST(Transaction, DestructionWithoutVerdictAbandons) {
  Told told;
  {
    PlainTransaction tx;
    tx.observe(std::make_unique<Recorder>("a", told));
  }
  EXPECT_EQ(told, (Told{"a abandoned"}));
}

TEST(Transaction, MovedFromHasNothingToTell) {
  Told told;
  auto first = std::make_unique<PlainTransaction>();
  first->observe(std::make_unique<Recorder>("a", told));
  PlainTransaction second(std::move(*first));
  first.reset();
  EXPECT_TRUE(told.empty());
  second.committed();
  EXPECT_EQ(told, (Told{"a committed"}));
}

}  // namespace
}  // namespace sagabox
