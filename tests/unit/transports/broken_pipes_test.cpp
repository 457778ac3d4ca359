#include "transports/broken_pipes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace sagabox::transports {
namespace {

TEST(BrokenPipesTest, AreErrorsAndLeaveNothingBehind) {
  // What ran before in this thread may have blocked it for good.
  sigset_t pipes;
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipes, nullptr);
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
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0) << "as before";
  close(ends[1]);
}

}  // namespace
}  // namespace sagabox::transports
