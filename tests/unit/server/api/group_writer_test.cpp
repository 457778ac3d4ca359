#include "server/api/group_writer.hpp"

#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

namespace sagabox::server {
namespace {

/// Holds the first commit until it is opened, so that what comes meanwhile forms one group.
class GroupWriting : public ::testing::Test {
 protected:
  GroupWriting() {
    store_.set_faults([this](memory::Operation operation) {
      if (operation == memory::Operation::insert) ++inserts_;
      if (operation != memory::Operation::commit) return memory::Fault::none;
      if (++commits_ == 1) gate_.get_future().wait();
      return commits_ == fails_at_ ? fault_ : memory::Fault::none;
    });
  }

  static NewMessage message(std::string id, std::string payload = "1") {
    return {.topic = "t", .payload = sagabox::json(std::move(payload)), .id = std::move(id)};
  }
  std::future<GroupWriter::Outcome> submit(GroupWriter& writer, std::vector<NewMessage> messages) {
    auto promise = std::make_shared<std::promise<GroupWriter::Outcome>>();
    EXPECT_TRUE(writer.submit(std::move(messages), [promise](GroupWriter::Outcome outcome) {
      promise->set_value(std::move(outcome));
    }));
    return promise->get_future();
  }
  /// Under way when this returns.
  std::future<GroupWriter::Outcome> submit_first(GroupWriter& writer) {
    auto first = submit(writer, {message("first")});
    while (commits_ == 0) std::this_thread::yield();
    return first;
  }
  std::size_t rows() { return store_.inspect(TableName::parse("default").value()).size(); }

  std::atomic<int> commits_{0};
  std::atomic<int> inserts_{0};
  int fails_at_ = 0;
  memory::Fault fault_ = memory::Fault::none;
  std::promise<void> gate_;
  memory::MemoryStore store_;
  Outbox outbox_ = Outbox::writer_only(store_).value();
};

TEST_F(GroupWriting, WhatComesDuringACommitSharesTheNext) {
  GroupWriter writer(store_, always(outbox_), {.writers = 1});
  auto first = submit_first(writer);
  std::vector<std::future<GroupWriter::Outcome>> others;
  for (int caller = 0; caller < 20; ++caller) {
    const auto name = "m" + std::to_string(caller);
    others.push_back(submit(writer, {message(name), message(name + "b")}));
  }
  gate_.set_value();
  EXPECT_EQ(first.get().value().front().id.view(), "first");
  for (int caller = 0; caller < 20; ++caller) {
    const auto written = others[static_cast<std::size_t>(caller)].get().value();
    ASSERT_EQ(written.size(), 2U);
    EXPECT_EQ(written[1].id.view(), "m" + std::to_string(caller) + "b");
  }
  EXPECT_EQ(commits_, 2);
  EXPECT_EQ(rows(), 41U);
}

TEST_F(GroupWriting, ABadMessageFailsForItsCallerOnly) {
  GroupWriter writer(store_, always(outbox_), {.writers = 1});
  auto first = submit_first(writer);
  auto good = submit(writer, {message("good")});
  auto bad = submit(writer, {message("bad1"), message("bad2", "{nonsense")});
  auto fine = submit(writer, {message("fine")});
  gate_.set_value();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(good.get().ok());
  EXPECT_EQ(bad.get().error().code, Code::schema_validation_failed);
  EXPECT_TRUE(fine.get().ok());
  EXPECT_EQ(rows(), 3U) << "all or nothing of one caller";
}

TEST_F(GroupWriting, NothingInDoubtIsWrittenAgain) {
  fails_at_ = 2;
  fault_ = memory::Fault::lost_after;
  GroupWriter writer(store_, always(outbox_), {.writers = 1});
  auto first = submit_first(writer);
  auto one = submit(writer, {message("")});
  auto two = submit(writer, {message("")});
  gate_.set_value();
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(one.get().error().code, Code::storage_in_doubt);
  EXPECT_EQ(two.get().error().code, Code::storage_in_doubt);
  EXPECT_EQ(rows(), 3U);
}

TEST_F(GroupWriting, TheSameIdFromTwoCallersIsOneMessage) {
  GroupWriter writer(store_, always(outbox_), {.writers = 1});
  auto first = submit_first(writer);
  auto one = submit(writer, {message("same")});
  auto two = submit(writer, {message("same")});
  gate_.set_value();
  EXPECT_TRUE(first.get().ok());
  const auto written = one.get().value().front();
  const auto again = two.get().value().front();
  EXPECT_NE(written.duplicate, again.duplicate);
  EXPECT_EQ(written.sequence, again.sequence);
  EXPECT_EQ(rows(), 2U);
}

TEST_F(GroupWriting, TooMuchIsRefusedAndWhatWaitsIsWrittenAtTheEnd) {
  std::future<GroupWriter::Outcome> first;
  std::future<GroupWriter::Outcome> waiting;
  {
    GroupWriter writer(store_, always(outbox_), {.writers = 1, .waiting_rows_max = 2});
    first = submit_first(writer);
    waiting = submit(writer, {message("a"), message("b")});
    EXPECT_FALSE(writer.submit({message("c")}, [](GroupWriter::Outcome) { ADD_FAILURE(); }));
    gate_.set_value();
  }
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(rows(), 3U);
}

TEST_F(GroupWriting, HeadersCountAsPayloadsDo) {
  constexpr std::size_t waiting_bytes_max = 100'000;
  GroupWriter writer(store_, always(outbox_),
                     {.writers = 1, .waiting_bytes_max = waiting_bytes_max});
  auto first = submit_first(writer);
  const std::string value(1'000, 'v');
  std::size_t taken = 0;
  const auto with_headers = [&] {
    auto made = message("h" + std::to_string(taken));
    for (int header = 0; header < 10; ++header) {
      made.headers.emplace_back("x-" + std::to_string(header), value);
    }
    return made;
  };
  std::vector<std::future<GroupWriter::Outcome>> waiting;
  for (; taken < 9; ++taken) waiting.push_back(submit(writer, {with_headers()}));
  EXPECT_FALSE(writer.submit({with_headers()}, [](const GroupWriter::Outcome&) {}))
      << "ten of them take more than 100,000 bytes";
  gate_.set_value();
  for (auto& one : waiting) EXPECT_TRUE(one.get().ok());
}

TEST_F(GroupWriting, GroupsAreBounded) {
  GroupWriter writer(store_, always(outbox_), {.writers = 1, .group_rows_max = 3});
  auto first = submit_first(writer);
  std::vector<std::future<GroupWriter::Outcome>> others;
  for (int caller = 0; caller < 7; ++caller) others.push_back(submit(writer, {message("")}));
  gate_.set_value();
  EXPECT_TRUE(first.get().ok());
  for (auto& other : others) EXPECT_TRUE(other.get().ok());
  EXPECT_EQ(commits_, 1 + 3);
}

TEST_F(GroupWriting, WritesGoToTheOutboxOfTheMoment) {
  auto now = std::make_shared<Outbox>(Outbox::writer_only(store_).value());
  GroupWriter writer(store_, [&] { return now; }, {.writers = 1});
  auto first = submit_first(writer);
  OutboxOptions other;
  other.table = "other";
  now = std::make_shared<Outbox>(Outbox::writer_only(store_, std::move(other)).value());
  auto second = submit(writer, {message("second")});
  gate_.set_value();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_EQ(store_.inspect(TableName::parse("other").value()).size(), 1U);
}

class LeavesOut final : public WriterHook {
 public:
  void before_write(std::vector<NewMessage>& messages) override {
    std::erase_if(messages, [](const NewMessage& message) { return message.id == "unwanted"; });
  }
};

TEST_F(GroupWriting, AHookThatLeavesSomeOutDoesNotMixUpTheOthers) {
  OutboxOptions options;
  options.hooks.push_back(std::make_shared<LeavesOut>());
  Outbox hooked = Outbox::writer_only(store_, std::move(options)).value();
  GroupWriter writer(store_, always(hooked), {.writers = 1});
  auto first = submit_first(writer);
  auto one = submit(writer, {message("unwanted")});
  auto two = submit(writer, {message("wanted")});
  gate_.set_value();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(one.get().value().empty());
  EXPECT_EQ(two.get().value().front().id.view(), "wanted");
}

}  // namespace
}  // namespace sagabox::server
