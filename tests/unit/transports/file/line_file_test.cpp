#include "transports/file/line_file.hpp"

#include "transports/broken_pipes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace sagabox::file {
namespace {

namespace fs = std::filesystem;

class LineFileTest : public ::testing::Test {
 protected:
  LineFileTest() {
    std::string name = fs::temp_directory_path() / "sagabox-line-file-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for files");
    folder_ = name;
  }
  ~LineFileTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name = "lines.jsonl") const {
    return folder_ / name;
  }
  static LineFile::Appended append(LineFile& file, std::string_view lines, Sync sync = Sync::no) {
    return file.append(lines, sync, [] { return true; });
  }
  static void expect_appended(LineFile& file, std::string_view lines, Sync sync = Sync::no) {
    const auto done = append(file, lines, sync);
    EXPECT_EQ(done.error, "");
    EXPECT_EQ(done.bytes, lines.size());
  }
  static std::string content(const std::string& path) {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  static void put(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

  fs::path folder_;
};

TEST_F(LineFileTest, AppendsToWhatIsThere) {
  put(path(), "one\n");
  LineFile file(path());
  expect_appended(file, "two\n");
  expect_appended(file, "three\nfour\n", Sync::yes);
  EXPECT_EQ(content(path()), "one\ntwo\nthree\nfour\n");
}

TEST_F(LineFileTest, ANewFileIsForItsOwnerOnly) {
  const auto mode = [](const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0U;
  };
  const auto before = ::umask(0);
  LineFile made(path());
  expect_appended(made, "one\n");
  EXPECT_EQ(mode(path()), 0600U);
  put(path("shared"), "");
  ASSERT_EQ(::chmod(path("shared").c_str(), 0664), 0);
  LineFile shared(path("shared"));
  expect_appended(shared, "one\n");
  EXPECT_EQ(mode(path("shared")), 0664U) << "what is there keeps its mode";
  ::umask(0277);
  LineFile narrow(path("narrow"));
  (void)append(narrow, "one\n");
  EXPECT_EQ(mode(path("narrow")), 0400U);
  ::umask(before);
}

TEST_F(LineFileTest, HalfALineOfACrashIsEndedFirst) {
  put(path(), "one\n{\"half");
  LineFile file(path());
  expect_appended(file, "two\n");
  EXPECT_EQ(content(path()), "one\n{\"half\ntwo\n");
}

TEST_F(LineFileTest, HalfALineOfSomebodyElseIsEndedToo) {
  LineFile file(path());
  expect_appended(file, "one\n");
  std::ofstream(path(), std::ios::app) << "half";
  expect_appended(file, "two\n");
  EXPECT_EQ(content(path()), "one\nhalf\ntwo\n");
}

TEST_F(LineFileTest, RotatedFileIsOpenedAgain) {
  LineFile file(path());
  expect_appended(file, "one\n");
  fs::rename(path(), path("old"));
  expect_appended(file, "two\n");
  fs::rename(path(), path("older"));
  put(path(), "there\n");
  expect_appended(file, "three\n");
  EXPECT_EQ(content(path("old")), "one\n");
  EXPECT_EQ(content(path("older")), "two\n");
  EXPECT_EQ(content(path()), "there\nthree\n");
}

TEST_F(LineFileTest, NewFileIsSyncedWithItsFolder) {
  LineFile file(path());
  expect_appended(file, "one\n", Sync::yes);
  EXPECT_EQ(content(path()), "one\n");
}

TEST_F(LineFileTest, FolderThatIsNotThereIsSaidAndTriedAgain) {
  fs::create_directory(folder_ / "sub");
  LineFile file(path("sub/lines"));
  expect_appended(file, "one\n");
  fs::rename(folder_ / "sub", folder_ / "away");
  const auto lost = append(file, "two\n");
  EXPECT_EQ(lost.bytes, 0U);
  EXPECT_NE(lost.error.find("No such file or directory; make the folder"), std::string::npos)
      << lost.error;
  fs::rename(folder_ / "away", folder_ / "sub");
  expect_appended(file, "three\n");
  EXPECT_EQ(content(path("sub/lines")), "one\nthree\n");
}

TEST_F(LineFileTest, FolderIsNoFile) {
  LineFile file(folder_);
  EXPECT_NE(append(file, "one\n").error.find("name a file in it"), std::string::npos);
}

TEST_F(LineFileTest, FullDiskIsSaid) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "/dev/full is missing";
  LineFile file("/dev/full");
  const auto done = append(file, "one\n");
  EXPECT_EQ(done.bytes, 0U);
  EXPECT_EQ(done.error,
            "file:/dev/full cannot be written: No space left on device; make room there");
}

TEST_F(LineFileTest, WhatFitsBeforeTheDiskIsFullCounts) {
  // A bound on the size of files is what a full disk is: a short write, then an error.
  struct Limit {
    Limit() {
      ::signal(SIGXFSZ, SIG_IGN);
      ::getrlimit(RLIMIT_FSIZE, &before);
      const rlimit small{10, before.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~Limit() {
      ::setrlimit(RLIMIT_FSIZE, &before);
      ::signal(SIGXFSZ, SIG_DFL);
    }
    rlimit before{};
  };
  LineFile file(path());
  {
    const Limit limit;
    const auto done = append(file, "12345\n67890\n");
    EXPECT_EQ(done.bytes, 10U);
    EXPECT_NE(done.error.find("File too large"), std::string::npos) << done.error;
  }
  expect_appended(file, "next\n");
  EXPECT_EQ(content(path()), "12345\n6789\nnext\n");
}

class PipeTest : public LineFileTest {
 protected:
  PipeTest() {
    if (::mkfifo(path("pipe").c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    reader_ = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~PipeTest() override { close_reader(); }
  void close_reader() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }
  std::string read_some() const {
    std::array<char, 1 << 20> buffer{};
    const auto bytes = ::read(reader_, buffer.data(), buffer.size());
    return {buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
  }

  const transports::BrokenPipes are_errors_;
  int reader_ = -1;
};

TEST_F(PipeTest, ReaderGetsTheLines) {
  LineFile file(path("pipe"));
  expect_appended(file, "one\n");
  expect_appended(file, "two\n", Sync::yes);
  EXPECT_EQ(read_some(), "one\ntwo\n");
}

TEST_F(PipeTest, ReaderWhoDoesNotReadIsWaitedForAsLongAsItIsWanted) {
  LineFile file(path("pipe"));
  const std::string much(1 << 20, 'x');
  int asked = 0;
  const auto done = file.append(much + "\n", Sync::no, [&] { return ++asked < 3; });
  EXPECT_EQ(asked, 3);
  EXPECT_GT(done.bytes, 0U);
  EXPECT_LT(done.bytes, much.size());
  EXPECT_NE(done.error.find("has not been read in time"), std::string::npos) << done.error;

  // The line that was begun is ended before the next one.
  EXPECT_EQ(read_some(), much.substr(0, done.bytes));
  expect_appended(file, "next\n");
  EXPECT_EQ(read_some(), "\nnext\n");
}

TEST_F(PipeTest, ReaderWhoReadsSlowlyGetsEverything) {
  LineFile file(path("pipe"));
  const std::string much = std::string(1 << 20, 'x') + "\n";
  std::string got;
  std::jthread reader([&] {
    while (got.size() < much.size()) got += read_some();
  });
  expect_appended(file, much);
  reader.join();
  EXPECT_EQ(got.size(), much.size());
}

TEST_F(PipeTest, ReaderWhoIsGoneIsSaid) {
  LineFile file(path("pipe"));
  expect_appended(file, "one\n");
  close_reader();
  EXPECT_NE(append(file, "two\n").error.find("nobody reads it"), std::string::npos);
  // Nor is the next time waited for one.
  EXPECT_NE(append(file, "three\n").error.find("nobody reads it"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::file
