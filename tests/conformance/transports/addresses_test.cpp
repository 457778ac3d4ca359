#include "conformance/transports/transport_conformance.hpp"

namespace sagabox::testing {
namespace {

TEST_P(TransportConformance, BadAddressIsRefusedAndTheErrorSaysWhatWouldBeRight) {
  const auto right = far_side().fresh_address();
  const auto scheme = right.substr(0, right.find(':'));
  for (const auto& text : {std::string(), std::string("nonsense"), std::string("nobody:knows"),
                           scheme, scheme + ":", right + "\n", right + std::string(1, '\0')}) {
    const auto result = transport().address(text, {});
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, Code::config_invalid) << text;
    EXPECT_NE(result.error().message.find(scheme), std::string::npos)
        << "the error should show an address that would be right: " << result.error().message;
  }
}

TEST_P(TransportConformance, UnknownSettingIsRefusedByItsName) {
  const auto result = transport().address(far_side().fresh_address(), {{"no_such_setting", "1"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::config_invalid);
  EXPECT_NE(result.error().message.find("no_such_setting"), std::string::npos)
      << result.error().message;
}

TEST_P(TransportConformance, AddressIsCheckedWithoutAskingTheServer) {
  const auto right = far_side().fresh_address();
  if (!far_side().stop()) GTEST_SKIP() << name() << ": its far side cannot be stopped";
  const auto other = far_side().open();
  const auto refused = other->address("nonsense", {});
  EXPECT_TRUE(!refused.ok() && refused.error().code == Code::config_invalid);
  EXPECT_TRUE(other->address(right, {}).ok());
  far_side().start();
  other->close(in(brief));
}

}  // namespace
}  // namespace sagabox::testing
