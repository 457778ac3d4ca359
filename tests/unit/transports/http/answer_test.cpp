#include "transports/http/answer.hpp"

#include "core/curl_retry_after.hpp"

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace sagabox::http {
namespace {

using Kind = spi::SendResult::Kind;
using std::chrono::seconds;

// Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110
constexpr WallTime then{seconds(784111777)};

TEST(RetryAfter, SecondsAndDates) {
  EXPECT_EQ(asked_wait("120", then), seconds(120));
  EXPECT_EQ(asked_wait(" 0 \r\n", then), seconds(0));
  EXPECT_EQ(asked_wait("Sun, 06 Nov 1994 08:49:37 GMT", then - seconds(30)), seconds(30));
  EXPECT_EQ(asked_wait("Sunday, 06-Nov-94 08:49:37 GMT", then - seconds(30)), seconds(30));
  EXPECT_EQ(asked_wait("Sun Nov  6 08:49:37 1994", then - seconds(30)), seconds(30));
}

TEST(RetryAfter, DateThatHasPassedIsNow) {
  EXPECT_EQ(asked_wait("Sun, 06 Nov 1994 08:49:37 GMT", then + seconds(1)), seconds(0));
  EXPECT_EQ(asked_wait("Sun, 06 Nov 1994 08:49:37 GMT", WallTime(seconds(1'700'000'000))),
            seconds(0));
}

TEST(RetryAfter, WhatIsNeitherIsNothing) {
  for (const auto* value : {"", " ", "soon", "-1", "1.5", "12s"}) {
    EXPECT_EQ(asked_wait(value, then), std::nullopt) << value;
  }
}

TEST(RetryAfter, NobodyWaitsForMoreThanADay) {
  EXPECT_EQ(asked_wait("86401", then), std::chrono::hours(24));
  EXPECT_EQ(asked_wait("99999999999999999999", then), std::chrono::hours(24));
  EXPECT_EQ(asked_wait("Fri, 31 Dec 9999 23:59:59 GMT", then), std::chrono::hours(24));
}

spi::SendResult judged(int status, std::string_view wait = {}) {
  return judge({.host = "hooks.example.com", .status = status, .retry_after = wait}, then);
}

TEST(Answer, StatusSaysWhoIsToBlame) {
  const std::pair<int, Kind> table[] = {
      {200, Kind::delivered},   {201, Kind::delivered},   {202, Kind::delivered},
      {204, Kind::delivered},   {299, Kind::delivered},   {300, Kind::rejected},
      {301, Kind::rejected},    {304, Kind::rejected},    {307, Kind::rejected},
      {308, Kind::rejected},    {400, Kind::rejected},    {401, Kind::rejected},
      {403, Kind::rejected},    {404, Kind::rejected},    {408, Kind::busy},
      {410, Kind::rejected},    {413, Kind::rejected},    {422, Kind::rejected},
      {425, Kind::busy},        {429, Kind::busy},        {500, Kind::failed},
      {501, Kind::failed},      {502, Kind::unreachable}, {503, Kind::busy},
      {504, Kind::unreachable}, {505, Kind::failed},      {599, Kind::failed},
      {421, Kind::failed},      {519, Kind::failed},      {520, Kind::unreachable},
      {523, Kind::unreachable}, {527, Kind::unreachable}, {528, Kind::failed},
      {529, Kind::failed},      {530, Kind::unreachable}};
  for (const auto& [status, kind] : table) {
    const auto result = judged(status);
    EXPECT_EQ(result.kind, kind) << status;
    if (kind == Kind::delivered) continue;
    EXPECT_NE(result.error.find(std::to_string(status) + " from hooks.example.com"),
              std::string::npos)
        << result.error;
  }
}

TEST(Answer, RedirectIsNamed) { EXPECT_NE(judged(302).error.find("redirect"), std::string::npos); }

TEST(Answer, BusyKnowsHowLong) {
  EXPECT_EQ(judged(429, "7").retry_after, seconds(7));
  EXPECT_EQ(judged(503, "Sun, 06 Nov 1994 08:49:47 GMT").retry_after, seconds(10));
  EXPECT_EQ(judged(429).retry_after, std::nullopt);
}

TEST(Answer, WithoutAStatusTheDestinationIsToBlame) {
  for (const auto code :
       {CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_SSL_CONNECT_ERROR,
        CURLE_PEER_FAILED_VERIFICATION, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
        CURLE_OPERATION_TIMEDOUT, CURLE_HTTP2}) {
    const auto result =
        judge({.host = "hooks.example.com", .curl_code = code, .curl_error = "it broke"}, then);
    EXPECT_EQ(result.kind, Kind::unreachable) << code;
    EXPECT_EQ(result.error, "hooks.example.com: it broke");
  }
}

TEST(Answer, CutOffAfterTheRequestItMayHaveArrived) {
  for (const auto code : {CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM}) {
    const auto result = judge({.host = "hooks.example.com",
                               .curl_code = code,
                               .curl_error = "it broke",
                               .request_sent = true},
                              then);
    EXPECT_EQ(result.kind, Kind::timed_out) << code;
    EXPECT_EQ(result.error, "hooks.example.com: it broke");
  }
  EXPECT_EQ(
      judge({.host = "h", .curl_code = CURLE_COULDNT_CONNECT, .request_sent = true}, then).kind,
      Kind::unreachable);
}

TEST(Answer, WhatIsOurOwnFaultIsNotTheDestinations) {
  EXPECT_EQ(judge({.host = "h", .curl_code = CURLE_OUT_OF_MEMORY}, then).kind, Kind::failed);
}

TEST(Answer, AtTheDeadlineItMattersWhetherAnythingWasSent) {
  EXPECT_EQ(judge({.host = "h", .past_deadline = true, .request_sent = true}, then).kind,
            Kind::timed_out);
  EXPECT_EQ(judge({.host = "h", .past_deadline = true}, then).kind, Kind::unreachable);
}

TEST(Answer, StatusCountsHoweverTheConnectionEnded) {
  EXPECT_EQ(judge({.host = "h", .curl_code = CURLE_PARTIAL_FILE, .status = 200}, then).kind,
            Kind::delivered);
  EXPECT_EQ(judge({.host = "h", .status = 404, .past_deadline = true}, then).kind, Kind::rejected);
  EXPECT_EQ(judge({.host = "h", .curl_code = CURLE_RECV_ERROR, .status = 100}, then).kind,
            Kind::unreachable);
}

TEST(Answer, RefusedAddressIsRejectedButANameMayLeadElsewhereAnotherTime) {
  Answer refused{.host = "h", .curl_code = CURLE_COULDNT_CONNECT, .refusal = "h is at 10.0.0.1"};
  EXPECT_EQ(judge(refused, then).kind, Kind::unreachable);
  EXPECT_EQ(judge(refused, then).error, "h is at 10.0.0.1");
  refused.is_name = false;
  EXPECT_EQ(judge(refused, then).kind, Kind::rejected);
  EXPECT_EQ(judge(refused, then).error, "h is at 10.0.0.1");
}

}  // namespace
}  // namespace sagabox::http
