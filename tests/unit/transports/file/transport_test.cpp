#include <sagabox/random.hpp>
#include <sagabox/transports/file.hpp>

#include <gtest/gtest.h>

#include <future>

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
