#include "transports/broken_pipes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace sagabox::transports {
namespace {

TEST(BrokenPipesTest, AreErrorsAndLeaveNothingBehind) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  {
    const BrokenPipes are_errors;
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), sigismember(&before, SIGPIPE)) << "as before";
  close(ends[1]);
}

}  // namespace
}  // namespace sagabox::transports
