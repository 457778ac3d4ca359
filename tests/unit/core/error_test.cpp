#include <sagabox/result.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace sagabox {
namespace {

std::vector<Code> all_codes() {
  std::vector<Code> codes;
  for (std::size_t i = 0; i < code_count; ++i) codes.push_back(static_cast<Code>(i));
  return codes;
}

TEST(ErrorCode, EveryCodeHasANameOfItsOwnThatLeadsBackToIt) {
  std::set<std::string_view> names;
  for (const Code code : all_codes()) {
    EXPECT_TRUE(names.insert(code_name(code)).second) << code_name(code);
    EXPECT_EQ(code_from_name(code_name(code)), code) << code_name(code);
  }
}

TEST(ErrorCode, NamesAreThoseOfTheSources) {
  EXPECT_EQ(code_name(Code::tx_timeout), "TX.TIMEOUT");
  EXPECT_EQ(code_name(Code::tx_idempotent_last_failed), "TX.IDEMPOTENT_LAST_FAILED");
  EXPECT_EQ(code_name(Code::tx_lease_lost), "TX.LEASE_LOST");
  EXPECT_EQ(code_name(Code::config_invalid), "CONFIG.INVALID");
  EXPECT_EQ(code_name(Code::storage_in_doubt), "STORAGE.IN_DOUBT");
  EXPECT_EQ(code_name(Code::schema_validation_failed), "SCHEMA.VALIDATION_FAILED");
  EXPECT_EQ(code_name(Code::provider_rejected), "PROVIDER.REJECTED");
  EXPECT_EQ(code_name(Code::auth_denied), "AUTH.DENIED");
  EXPECT_EQ(code_name(Code::request_not_found), "REQUEST.NOT_FOUND");
  EXPECT_EQ(code_name(Code::unknown_internal), "UNKNOWN.INTERNAL");
}

TEST(ErrorCode, UnknownNamesAndValuesAreUnknownInternal) {
  EXPECT_EQ(code_from_name("TX.FROM_THE_FUTURE"), Code::unknown_internal);
  EXPECT_EQ(code_from_name(""), Code::unknown_internal);
  EXPECT_EQ(code_name(static_cast<Code>(250)), "UNKNOWN.INTERNAL");
}

TEST(ErrorCode, OnlyThoseThatCanSimplyBeRepeatedAreRetrySafe) {
  const std::set<Code> safe{Code::tx_timeout,           Code::tx_idempotent_busy,
                            Code::tx_no_subscribers,    Code::tx_handler_failed,
                            Code::storage_conflict,     Code::storage_unavailable,
                            Code::provider_unavailable, Code::server_busy};
  for (const Code code : all_codes()) {
    EXPECT_EQ(is_retry_safe(code), safe.contains(code)) << code_name(code);
  }
}

TEST(ErrorCode, ADoubtfulCommitIsCriticalAndNeverRetriedBlindly) {
  EXPECT_FALSE(is_retry_safe(Code::storage_in_doubt));
  EXPECT_EQ(severity(Code::storage_in_doubt), Severity::critical);
  EXPECT_EQ(severity(Code::tx_idempotent_hit), Severity::info);
  EXPECT_EQ(severity(Code::storage_conflict), Severity::warning);
  EXPECT_EQ(severity(Code::tx_deadletter), Severity::error);
}

TEST(ErrorCode, PublicMessagesAreShortSentences) {
  for (const Code code : all_codes()) {
    const auto message = public_message(code);
    EXPECT_FALSE(message.empty()) << code_name(code);
    EXPECT_LE(message.size(), 80U) << message;
    EXPECT_TRUE(message.ends_with('.')) << message;
  }
}

TEST(Error, TextIsCodeAndMessage) {
  EXPECT_EQ((Error{Code::tx_no_transaction, "call BEGIN first"}).text(),
            "TX.NO_TRANSACTION: call BEGIN first");
  EXPECT_EQ((Error{Code::tx_timeout, ""}).text(), "TX.TIMEOUT");
}

TEST(Result, HoldsAValue) {
  Result<std::string> result = std::string("here");
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result.value(), "here");
  EXPECT_EQ(*result, "here");
  EXPECT_EQ(result->size(), 4U);
  EXPECT_EQ(std::move(result).value(), "here");
}

TEST(Result, ValueOfAnErrorThrowsFailureWithTheError) {
  const Result<int> result = Error{Code::storage_conflict, "another was faster"};
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::storage_conflict);
  try {
    (void)result.value();
    FAIL() << "value() of an error returned";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error().code, Code::storage_conflict);
    EXPECT_EQ(failure.error().message, "another was faster");
    EXPECT_STREQ(failure.what(), "STORAGE.CONFLICT: another was faster");
  }
}

TEST(Result, StatusIsOkUnlessGivenAnError) {
  const Status good;
  EXPECT_TRUE(good.ok());
  EXPECT_NO_THROW(good.value());
  const Status bad = Error{Code::config_invalid, "no"};
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "no");
  EXPECT_THROW(bad.value(), Failure);
}

TEST(Result, CanHoldWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace sagabox
