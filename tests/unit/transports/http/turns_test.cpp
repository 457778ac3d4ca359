#include "transports/http/turns.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sagabox::http {
namespace {

class TurnsTest : public ::testing::Test {
 protected:
  struct Named : Turn {
    std::string name;
  };

  Named& add(Turns& turns, Endpoint& endpoint, std::string name, std::uint32_t concurrency = 1) {
    auto& turn = *all_.emplace_back(std::make_unique<Named>());
    turn.endpoint = &endpoint;
    turn.concurrency = concurrency;
    turn.name = std::move(name);
    turns.add(turn);
    return turn;
  }

  static std::string go(Turns& turns) {
    std::string names;
    while (auto* const turn = turns.next()) names += static_cast<Named*>(turn)->name + " ";
    return names;
  }

  Endpoint one_;
  Endpoint other_;

 private:
  std::vector<std::unique_ptr<Named>> all_;
};

TEST_F(TurnsTest, FirstComeFirstServedUpToTheConcurrency) {
  Turns turns(10);
  auto& first = add(turns, one_, "1", 2);
  add(turns, one_, "2", 2);
  add(turns, one_, "3", 2);
  EXPECT_EQ(go(turns), "1 2 ");
  EXPECT_FALSE(turns.may_go());
  turns.ended(first);
  EXPECT_TRUE(turns.may_go());
  EXPECT_EQ(go(turns), "3 ");
}

TEST_F(TurnsTest, BusyEndpointDoesNotKeepOthersWaiting) {
  Turns turns(10);
  for (int i = 0; i < 100; ++i) add(turns, one_, "a", 3);
  add(turns, other_, "b");
  EXPECT_EQ(go(turns), "a b a a ");
}

TEST_F(TurnsTest, AllTogetherAreBoundedAndEndpointsTakeTurns) {
  Turns turns(2);
  std::vector<Turn*> begun;
  for (int i = 0; i < 3; ++i) add(turns, one_, "a", 9);
  for (int i = 0; i < 3; ++i) add(turns, other_, "b", 9);
  std::string names;
  for (int i = 0; i < 6; ++i) {
    if (begun.size() == 2) {
      turns.ended(*begun.front());
      begun.erase(begun.begin());
    }
    while (auto* const turn = turns.next()) {
      names += static_cast<Named*>(turn)->name;
      begun.push_back(turn);
    }
  }
  EXPECT_EQ(names, "ababab");
}

TEST_F(TurnsTest, WhoWithdrawsIsNotWaitedFor) {
  Turns turns(10);
  auto& first = add(turns, one_, "1", 1);
  auto& second = add(turns, one_, "2", 1);
  add(turns, one_, "3", 1);
  EXPECT_EQ(go(turns), "1 ");
  turns.withdraw(second);
  EXPECT_FALSE(second.is_waiting);
  turns.ended(first);
  EXPECT_EQ(go(turns), "3 ");
}

TEST_F(TurnsTest, LastToWithdrawTakesItsEndpointOutOfTheRound) {
  Turns turns(1);
  auto& running = add(turns, one_, "1");
  EXPECT_EQ(go(turns), "1 ");
  {
    Endpoint gone;
    auto& waiting = add(turns, gone, "2");
    turns.withdraw(waiting);
  }
  turns.ended(running);
  EXPECT_EQ(go(turns), "");
}

TEST_F(TurnsTest, HigherBoundBehindALowerOneIsReachedWhenThatIsGone) {
  Turns turns(10);
  add(turns, one_, "1", 5);
  add(turns, one_, "2", 5);
  auto& low = add(turns, one_, "3", 1);
  add(turns, one_, "4", 5);
  EXPECT_EQ(go(turns), "1 2 ");
  turns.withdraw(low);
  EXPECT_EQ(go(turns), "4 ");
}

}  // namespace
}  // namespace sagabox::http
