#include "conformance/transports/event_line.hpp"
#include "conformance/transports/transport_conformance.hpp"
#include "support/nats_server.hpp"
#include "transports/envelope.hpp"

#include <sagabox/transports/nats.hpp>

#include <boost/json.hpp>
#include <nats/nats.h>

#include <charconv>
#include <thread>

namespace sagabox::testing {
namespace {

constexpr std::string_view nats_scheme = "nats:";

/// CloudEvents' encoding of header values, undone.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ec == std::errc()) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Looks at streams as any other client would.
class StreamReader {
 public:
  explicit StreamReader(const std::string& url) {
    check(natsConnection_ConnectTo(&connection_, url.c_str()));
    check(natsConnection_JetStream(&context_, connection_, nullptr));
  }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  ~StreamReader() {
    jsCtx_Destroy(context_);
    natsConnection_Destroy(connection_);
  }

  void create(const std::string& stream, const std::string& subject, int bytes_max = -1) {
    const char* subjects[] = {subject.c_str()};
    jsStreamConfig config;
    check(jsStreamConfig_Init(&config));
    config.Name = stream.c_str();
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.MaxMsgSize = bytes_max;
    check(js_AddStream(nullptr, context_, &config, nullptr, nullptr));
  }

  std::size_t count(const std::string& stream) {
    jsStreamInfo* info = nullptr;
    check(js_GetStreamInfo(&info, context_, stream.c_str(), nullptr, nullptr));
    const auto messages = info == nullptr ? 0 : info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return messages;
  }

  /// As it is stored: libnats itself takes the line after an empty header for its value.
  Arrived message(const std::string& stream, std::uint64_t sequence) {
    natsMsg* raw = nullptr;
    check(natsConnection_RequestString(
        &raw, connection_, ("$JS.API.STREAM.MSG.GET." + stream).c_str(),
        ("{\"seq\":" + std::to_string(sequence) + "}").c_str(), 5000));
    Arrived arrived;
    if (raw == nullptr) return arrived;
    const auto answer = boost::json::parse(std::string_view(
        natsMsg_GetData(raw), static_cast<std::size_t>(natsMsg_GetDataLength(raw))));
    natsMsg_Destroy(raw);
    const auto& message = answer.at("message").as_object();
    const auto field = [&](std::string_view name) {
      const auto* const value = message.if_contains(name);
      return value == nullptr ? std::string() : from_base64(value->as_string());
    };
    arrived.payload = field("data");
    const auto headers = field("hdrs");
    EXPECT_TRUE(headers.starts_with("NATS/1.0\r\n")) << headers;
    for (auto begin = headers.find("\r\n") + 2; begin < headers.size() - 2;) {
      const auto end = headers.find("\r\n", begin);
      const auto colon = headers.find(": ", begin);
      sort_in(arrived, headers.substr(begin, colon - begin),
              headers.substr(colon + 2, end - colon - 2));
      begin = end + 2;
    }
    return arrived;
  }

 private:
  static void check(natsStatus status) { EXPECT_EQ(status, NATS_OK) << natsStatus_GetText(status); }

  static void sort_in(Arrived& arrived, const std::string& name, const std::string& value) {
    if (name.starts_with("ce-")) {
      arrived.attributes.emplace_back(name.substr(3), decoded(value));
    } else if (name == "content-type") {
      arrived.content_type = value;
    } else if (transports::may_travel(name)) {
      arrived.headers.emplace_back(decoded(name), value);
    }
  }

  natsConnection* connection_ = nullptr;
  jsCtx* context_ = nullptr;
};

/// Every address is a subject with a stream of its own.
class NatsFarSide final : public FarSide {
 public:
  [[nodiscard]] std::string problem() const override { return server_.problem(); }

  [[nodiscard]] std::unique_ptr<spi::Transport> open() override {
    return nats::open({.servers = {server_.url()}, .connect_max = connect_max}).value();
  }

  [[nodiscard]] std::string fresh_address() override {
    const auto number = std::to_string(++addresses_);
    StreamReader(server_.url()).create("stream-" + number, "stream-" + number);
    return std::string(nats_scheme) + "stream-" + number;
  }

  [[nodiscard]] std::vector<Arrived> arrived(const std::string& address,
                                             std::size_t count) override {
    const auto stream = address.substr(nats_scheme.size());
    StreamReader reader(server_.url());
    const auto give_up = system_clock().boot_now() + OutTray::patience;
    auto there = reader.count(stream);
    while (there < count && system_clock().boot_now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      there = reader.count(stream);
    }
    std::vector<Arrived> all;
    for (std::uint64_t sequence = 1; sequence <= there; ++sequence) {
      all.push_back(reader.message(stream, sequence));
    }
    return all;
  }

  [[nodiscard]] std::optional<std::string> refusing_address() override {
    // A stream that takes no payload of these tests.
    StreamReader(server_.url()).create("tiny", "tiny", 1);
    return "nats:tiny";
  }

  bool stop() override {
    server_.stop();
    return true;
  }
  void start() override { server_.start(); }
  bool stall() override {
    server_.stall();
    return true;
  }
  void go_on() override { server_.go_on(); }

 private:
  NatsServer server_;
  int addresses_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Nats, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "Nats", [] { return std::make_unique<NatsFarSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
