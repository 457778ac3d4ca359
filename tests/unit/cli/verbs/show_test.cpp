#include "cli/verbs/show.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

namespace sagabox::cli {
namespace {

class ShowTest : public ::testing::Test {
 protected:
  std::string shown(const std::string& topic, std::uint32_t attempt = 1) {
    NewMessage draft{.topic = topic, .payload = json("{}")};
    draft.id = id;
    const auto message = Message::build(std::move(draft), {}, ids, clock).value();
    id = message.id().str();
    const Delivery::Facts facts{.message = &message, .attempt = attempt};
    clock.advance(std::chrono::microseconds(1500));
    std::rewind(file.get());
    outcome = show(Delivery(facts));
    std::fflush(file.get());
    const auto size = std::ftell(file.get());
    std::string text(static_cast<std::size_t>(size), ' ');
    std::rewind(file.get());
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file.get()), text.size());
    return text;
  }

  testing::FakeClock clock;
  UlidSource ids{clock, system_random()};
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
  Terminal terminal{file.get()};
  Show show{terminal, clock};
  std::string id{};
  Outcome outcome;
};

TEST_F(ShowTest, ALineSaysWhatWhichAndHowLongItTook) {
  const auto line = shown("demo.hello.said.v1", 2);
  EXPECT_EQ(line.substr(8), " delivered demo.hello.said.v1 " + id + " attempt 2 in 1.5 ms\n");
  EXPECT_EQ(outcome.kind, Outcome::Kind::done);
}

TEST_F(ShowTest, AnIdThatIsNoUlidSaysNothingOfTime) {
  id = "order-17";
  EXPECT_EQ(shown("t").substr(8), " delivered t order-17 attempt 1\n");
}

TEST_F(ShowTest, WhatAsksToBeRefusedIsRefusedOnce) {
  EXPECT_EQ(shown("demo.hello.refused.v1").substr(8, 9), " refused ");
  EXPECT_EQ(outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(shown("demo.hello.refused.v1").substr(8, 11), " delivered ");
  EXPECT_EQ(outcome.kind, Outcome::Kind::done);
}

}  // namespace
}  // namespace sagabox::cli
