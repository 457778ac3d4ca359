#include "support/collected_results.hpp"

#include <sagabox/random.hpp>
#include <sagabox/transports/file.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <thread>

namespace sagabox::file {
namespace {

using namespace std::chrono_literals;

class OneResult final : public spi::SendResults {
 public:
  void sent(spi::Ticket, spi::SendResult result) noexcept override {
    promise_.set_value(std::move(result));
  }
  spi::SendResult get() { return promise_.get_future().get(); }

 private:
  std::promise<spi::SendResult> promise_;
};

class FileTransportTest : public ::testing::Test {
 protected:
  std::string refused(std::string_view text, const spi::AddressSettings& settings = {}) {
    const auto result = transport_->address(text, settings);
    return result.ok() ? "" : result.error().message;
  }
  spi::SendResult send(std::string_view address) {
    UlidSource ids(system_clock(), system_random());
    const auto message = std::make_shared<const Message>(
        Message::build({.topic = "t", .payload = json("1")}, {}, ids, system_clock()).value());
    OneResult result;
    std::vector<spi::Parcel> parcels{{.message = message,
                                      .address = transport_->address(address, {}).value(),
                                      .table = &table_,
                                      .deadline = system_clock().boot_now() + 30s}};
    transport_->send(parcels, result);
    return result.get();
  }

  TableName table_ = TableName::parse("orders").value();
  std::unique_ptr<spi::Transport> transport_ = open();
};

TEST_F(FileTransportTest, AddressesSayWhatIsWrong) {
  EXPECT_EQ(refused("file:/tmp/x"), "");
  EXPECT_EQ(refused("file:x.jsonl", {{"sync", "true"}}), "");
  EXPECT_EQ(refused("file:///tmp/x"), "");
  EXPECT_EQ(refused("stdout:"), "");
  EXPECT_EQ(refused("file:"),
            "address \"file:\": nothing stands behind file:; write it as "
            "file:/var/log/orders.jsonl");
  EXPECT_EQ(refused("file://host/x"),
            "address \"file://host/x\": it names a host, and files are on this one; write it as "
            "file:/var/log/orders.jsonl");
  EXPECT_EQ(refused("file:/tmp/"),
            "address \"file:/tmp/\": it names a folder; write it as file:/var/log/orders.jsonl");
  EXPECT_NE(refused("stdout:x"), "");
  EXPECT_EQ(refused("file:x", {{"sync", "yes"}}), "setting sync: \"yes\" must be true or false");
  EXPECT_EQ(refused("file:x", {{"fsync", "true"}}),
            "setting \"fsync\" is unknown here; there are sync");
  EXPECT_EQ(refused("stdout:", {{"sync", "true"}}),
            "setting \"sync\" is unknown here; there are none");
}

TEST_F(FileTransportTest, StandardOutputGetsTheLine) {
  ::testing::internal::CaptureStdout();
  const auto result = send("stdout:");
  const auto line = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(result.kind, spi::SendResult::Kind::delivered) << result.error;
  EXPECT_TRUE(line.starts_with("{\"specversion\":\"1.0\"")) << line;
  EXPECT_TRUE(line.ends_with("\"data\":1}\n")) << line;
}

TEST_F(FileTransportTest, FullDiskIsTheDestinationsFault) {
  const auto result = send("file:/dev/full");
  EXPECT_EQ(result.kind, spi::SendResult::Kind::unreachable);
  EXPECT_NE(result.error.find("make room"), std::string::npos) << result.error;
}

/// A pipe in a folder of its own, open for reading.
class Pipe {
 public:
  Pipe() {
    if (mkdtemp(folder_.data()) == nullptr) return;
    path_ = folder_ + "/pipe";
    if (mkfifo(path_.c_str(), 0600) != 0) return;
    reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~Pipe() {
    if (reader_ >= 0) ::close(reader_);
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int reader() const { return reader_; }
  /// Whether somebody has written.
  [[nodiscard]] bool wait() const {
    pollfd ready{.fd = reader_, .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, 30'000) == 1;
  }

 private:
  std::string folder_ = ::testing::TempDir() + "sagabox-pipe-XXXXXX";
  std::string path_;
  int reader_ = -1;
};

TEST_F(FileTransportTest, WhileAPipeIsNotReadWhatWaitsIsPutOffAndLetGo) {
  const Pipe pipe;
  ASSERT_GE(pipe.reader(), 0);
  const auto address = transport_->address("file:" + pipe.path(), {}).value();
  UlidSource ids(system_clock(), system_random());
  testing::CollectedResults results;
  std::vector<std::weak_ptr<const Message>> messages;
  std::uint64_t last = 0;
  std::vector<spi::Parcel> parcels;
  const auto add = [&](std::size_t bytes_count, Duration time) {
    auto message = std::make_shared<const Message>(
        Message::build({.topic = "t", .payload = bytes(std::string(bytes_count, 'x'))}, {}, ids,
                       system_clock())
            .value());
    messages.push_back(message);
    parcels.push_back({.ticket = spi::Ticket{++last},
                       .message = std::move(message),
                       .address = address,
                       .table = &table_,
                       .deadline = system_clock().boot_now() + time});
    return last;
  };
  const auto send = [&] {
    transport_->send(parcels, results);
    parcels.clear();
  };
  const auto held = [&] {
    return std::ranges::count_if(messages, [](const auto& one) { return !one.expired(); });
  };

  const auto stuck = add(1'000'000, 1h);
  send();
  ASSERT_TRUE(pipe.wait());
  for (int i = 0; i < 1000; ++i) {
    // Some are given up while they are handed over.
    const auto waiting = add(10, std::chrono::microseconds(i % 200));
    send();
    EXPECT_EQ(results.only(waiting).kind, spi::SendResult::Kind::later);
  }
  // Together: the second must not come after the first was given up.
  const auto waiting = add(10, 1h);
  const auto behind = add(10, 1h);
  parcels.front().deadline = system_clock().boot_now() + 1s;
  send();
  EXPECT_EQ(results.only(waiting).kind, spi::SendResult::Kind::later);
  EXPECT_EQ(results.only(behind).kind, spi::SendResult::Kind::later) << "it must not overtake";
  const auto give_up = system_clock().boot_now() + 5min;
  while (held() > 1 && system_clock().boot_now() < give_up) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(held(), 1) << "only the one that is being written";

  std::array<char, 65'536> read{};
  while (results.of(stuck).empty() && system_clock().boot_now() < give_up) {
    (void)!::read(pipe.reader(), read.data(), read.size());
  }
  EXPECT_EQ(results.only(stuck).kind, spi::SendResult::Kind::delivered);
  // It knows the results until it has ended.
  transport_.reset();
}

TEST_F(FileTransportTest, FilesThatAreNotSyncedAreFindings) {
  EXPECT_EQ(transport_->findings({}).value().size(), 0U);
  transport_->address("file:/tmp/b", {{"sync", "true"}}).value();
  EXPECT_EQ(transport_->findings({}).value().size(), 0U);
  transport_->address("file:/tmp/a", {}).value();
  const auto found = transport_->findings({}).value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("file:/tmp/a"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::file
