#include "conformance/transports/transport_conformance.hpp"

namespace sagabox::testing {
namespace {

/// Every byte there is, again and again, but never in step with anything.
std::string all_bytes(std::size_t size) {
  std::string data;
  data.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    data += static_cast<char>(static_cast<unsigned char>((i + i / 251) % 256));
  }
  return data;
}

TEST_P(TransportConformance, EmptyPayloadArrives) { expect_payload_arrives(bytes("")); }

TEST_P(TransportConformance, BinaryPayloadArrivesByteForByte) {
  expect_payload_arrives(bytes(all_bytes(4096)));
  expect_payload_arrives(bytes(std::string(1, '\0')));
  expect_payload_arrives(bytes("\r\n.\r\n"), "text/plain; charset=utf-8");
}

TEST_P(TransportConformance, JsonPayloadArrivesByteForByte) {
  expect_payload_arrives(json("null"));
  expect_payload_arrives(json("1.0"));
  expect_payload_arrives(json(R"( {"a" :1.50e1, "a":"é\u00e9\/","z":[ ]} )"));
  expect_payload_arrives(json("{\n\t\"lines\": [\r\n1]\n}\n"), "application/vnd.order+json");
}

TEST_P(TransportConformance, LargestPayloadArrives) {
  expect_payload_arrives(bytes(all_bytes(payload_bytes_max())));
  expect_payload_arrives(json("\"" + std::string(payload_bytes_max() - 2, 'x') + "\""));
}

TEST_P(TransportConformance, LargerPayloadIsRejectedAndDoesNotHarmTheNext) {
  if (payload_bytes_max() >= MessageRules::payload_bytes_ceiling) {
    GTEST_SKIP() << name() << " takes payloads as large as a message can have";
  }
  const auto to = fresh_target();
  const auto large = parcel(build({.payload = bytes(all_bytes(payload_bytes_max() + 1))}), to);
  const auto next = parcel(numbered(), to);
  send({large, next});
  ASSERT_TRUE(tray().wait_for_all()) << tray().summary();
  EXPECT_EQ(tray().result(large.ticket).kind, Kind::rejected) << tray().summary();
  EXPECT_EQ(tray().result(next.ticket).kind, Kind::delivered) << tray().summary();
  expect_arrived_once({next}, to);
}

}  // namespace
}  // namespace sagabox::testing
