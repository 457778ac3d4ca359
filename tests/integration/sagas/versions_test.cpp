#include "integration/sagas/world.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

/// A saga goes on with the version of its definition that it was started with.
namespace sagabox::integration {
namespace {

using std::chrono::milliseconds;

/// The next version goes by train.
SagaDefinition by_train(SagaDefinition before) {
  before.version = 2;
  before.steps = {{.name = "train", .action = "fn:book_train", .compensation = "none"}};
  return before;
}

/// A hotel whose first answer never comes.
class SilentHotel {
 public:
  explicit SilentHotel(Diary& diary) : diary_(diary) {}
  SagaAnswer operator()(const SagaCall& call) {
    {
      const std::scoped_lock lock(mutex_);
      promised_.push_back(call.completion());
    }
    diary_.write("book hotel");
    return saga_later();
  }

 private:
  Diary& diary_;
  std::mutex mutex_;
  std::vector<SagaCompletion> promised_;
};

/// Its calls that may be repeated are given up at once.
SagaOptions hasty(SagaOptions options) {
  options.drain_timeout = milliseconds(50);
  return options;
}

TEST_P(SagasTest, RunningSagasKeepTheirVersion) {
  SilentHotel hotel(diary);
  std::optional<SagaId> old;
  {
    auto before = Sagas::create(*store, hasty(quick())).value();
    add_travel(before, std::ref(hotel));
    before.start().value();
    old = before.start_saga({.definition = "travel"}).value();
    ASSERT_TRUE(eventually_so([&] { return diary.count("book hotel") == 1; }));
    (void)before.stop();
  }
  auto sagas = Sagas::create(*store, quick()).value();
  add_travel(sagas, doing("book hotel"));
  sagas.function("book_train", doing("book train")).value();
  sagas.define(by_train(travel())).value();
  sagas.start().value();
  const auto fresh = sagas.start_saga({.definition = "travel"}).value();
  ASSERT_TRUE(comes_to(*old, SagaState::completed));
  ASSERT_TRUE(comes_to(fresh, SagaState::completed));
  EXPECT_EQ(record(*old)->definition_version, 1U);
  EXPECT_EQ(record(fresh)->definition_version, 2U);
  EXPECT_EQ(diary.count("book flight 1"), 1U) << "what was done is not done again";
  EXPECT_EQ(diary.count("book car 1"), 1U) << "by the steps of its own version";
  EXPECT_EQ(diary.count("book train 1"), 1U);
}

TEST_P(SagasTest, ASagaOfAVersionThatNoProcessKnowsWaitsAndIsFound) {
  SilentHotel hotel(diary);
  std::optional<SagaId> old;
  {
    auto before = Sagas::create(*store, hasty(quick())).value();
    add_travel(before, std::ref(hotel));
    before.start().value();
    old = before.start_saga({.definition = "travel"}).value();
    ASSERT_TRUE(eventually_so([&] { return diary.count("book hotel") == 1; }));
    (void)before.stop();
  }
  const auto version = record(*old)->version;
  {
    auto other = Sagas::create(*store, hasty(quick())).value();
    other.function("book_train", doing("book train")).value();
    other.define(by_train(travel())).value();
    other.start().value();
    ASSERT_TRUE(eventually_so([&] { return !other.findings().empty(); }));
    const auto found = other.findings();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].saga, *old);
    EXPECT_EQ(found[0].code, Code::config_invalid);
    EXPECT_NE(found[0].text.find("version 1 of travel"), std::string::npos) << found[0].text;
    EXPECT_EQ(other.snapshot().findings, 1U);
    // Others go on, and what is asked of it waits, too.
    const auto fresh = other.start_saga({.definition = "travel"}).value();
    ASSERT_TRUE(comes_to(fresh, SagaState::completed));
    const auto asked = other.request(
        {.saga = *old, .kind = SagaCommandKind::cancel, .actor = "ada"}, milliseconds(200));
    EXPECT_EQ(asked->state, SagaRequestReply::State::pending);
    EXPECT_EQ(record(*old)->version, version) << "it is left as it is";
    other.stop().value();
  }
  auto both = Sagas::create(*store, quick()).value();
  add_travel(both, [](const SagaCall&) { return saga_wait(); });
  both.function("book_train", doing("book train")).value();
  both.define(by_train(travel())).value();
  both.start().value();
  ASSERT_TRUE(comes_to(*old, SagaState::cancelled)) << "the command came before";
  EXPECT_EQ(diary.count("cancel hotel 1"), 1U) << "its call was in doubt";
  EXPECT_EQ(diary.count("cancel flight 1"), 1U);
  EXPECT_TRUE(both.findings().empty());
}

}  // namespace
}  // namespace sagabox::integration
