#include "saga/calls/participants.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace sagabox::saga {
namespace {

using Kind = CallResult::Kind;
using Body = spi::Answer::Body;

CallResult result_of(spi::Answer answer) {
  return result_of_send({.reach = spi::Reach::answered,
                         .answer = std::make_shared<const spi::Answer>(std::move(answer))});
}

TEST(ParticipantResult, ASuccessWhoseBodyEndedEarlyIsInDoubt) {
  EXPECT_EQ(result_of({.status = 200, .body = "{}"}).kind, Kind::ok);
  const auto ended = result_of({.status = 200, .body = "{", .end = Body::ended});
  EXPECT_EQ(ended.kind, Kind::in_doubt);
  EXPECT_NE(ended.error.find("ended early"), std::string::npos);
  EXPECT_EQ(result_of({.status = 202, .end = Body::ended}).kind, Kind::wait);
  EXPECT_EQ(result_of({.status = 404, .end = Body::ended}).kind, Kind::fail);
}

TEST(ParticipantResult, ASilentParticipantBehindAProxyIsInDoubt) {
  for (const int status : {502, 504, 520, 524}) {
    EXPECT_EQ(result_of({.status = status}).kind, Kind::in_doubt) << status;
  }
  for (const int status : {408, 429, 500, 503}) {
    EXPECT_EQ(result_of({.status = status}).kind, Kind::retry) << status;
  }
}

TEST(ParticipantResult, WhatWasSentTwiceLeavesADoubt) {
  for (const int status : {200, 404, 422, 503}) {
    const auto answer =
        std::make_shared<const spi::Answer>(spi::Answer{.status = status, .body = "{}"});
    const auto once = result_of_send({.reach = spi::Reach::answered, .answer = answer});
    const auto twice =
        result_of_send({.reach = spi::Reach::answered, .resent = true, .answer = answer});
    EXPECT_EQ(twice.kind, once.kind) << status;
    EXPECT_FALSE(once.doubt) << status;
    EXPECT_TRUE(twice.doubt) << status;
  }
}

}  // namespace
}  // namespace sagabox::saga
