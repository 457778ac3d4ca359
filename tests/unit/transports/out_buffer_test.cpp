#include "transports/out_buffer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace sagabox::transports {
namespace {

RC_GTEST_PROP(OutBufferTest, EveryByteIsWrittenOnceInOrderAndTheRestIsLetGo, ()) {
  OutBuffer buffer;
  std::string all;
  std::string written;
  for (int step = 0; step < 50; ++step) {
    const auto more = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
    buffer.end() += more;
    all += more;
    // So much the socket takes before it takes nothing.
    auto room = *rc::gen::inRange<std::size_t>(0, 150);
    const auto status = buffer.flush([&](std::string_view bytes) -> Result<std::size_t> {
      const auto taken = std::min({room, bytes.size(), std::size_t{7}});
      written += bytes.substr(0, taken);
      room -= taken;
      return taken;
    });
    RC_ASSERT(status.ok());
    RC_ASSERT(all.compare(0, written.size(), written) == 0);
    RC_ASSERT(buffer.size() == all.size() - written.size());
    RC_ASSERT(buffer.empty() == (buffer.size() == 0));
    RC_ASSERT(buffer.kept() <= 2 * buffer.size());
  }
}

TEST(OutBufferTest, SocketThatNeverCatchesUpCostsNoMoreThanWhatWaits) {
  OutBuffer buffer;
  const std::string more(1000, 'x');
  for (int i = 0; i < 10'000; ++i) {
    buffer.end() += more;
    std::size_t room = i < 10 ? 0 : more.size();
    ASSERT_TRUE(buffer
                    .flush([&](std::string_view bytes) -> Result<std::size_t> {
                      const auto taken = std::min(room, bytes.size());
                      room -= taken;
                      return taken;
                    })
                    .ok());
    ASSERT_LE(buffer.kept(), 2 * 11 * more.size());
  }
}

TEST(OutBufferTest, ErrorOfTheSocketIsPassedOn) {
  OutBuffer buffer;
  buffer.end() += "abc";
  const auto status = buffer.flush([](std::string_view) -> Result<std::size_t> {
    return Error{Code::provider_unavailable, "gone"};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "gone");
}

}  // namespace
}  // namespace sagabox::transports
