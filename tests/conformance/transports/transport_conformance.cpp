#include "conformance/transports/transport_conformance.hpp"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

namespace sagabox::testing {

// A build may have left out every transport that a file of the suite needs.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransportConformance);

static_assert(connect_max > OutTray::slack * 2 && keep_alive > OutTray::slack * 2);

std::string case_name(const ::testing::TestParamInfo<FarSideCase>& info) { return info.param.name; }

void TransportConformance::SetUp() {
  far_side_ = GetParam().make();
  if (const auto problem = far_side_->problem(); !problem.empty()) GTEST_SKIP() << problem;
  transport_ = far_side_->open();
  ASSERT_NE(transport_, nullptr);
}

void TransportConformance::TearDown() {
  if (!transport_) return;
  transport_->close(in(std::chrono::seconds(5)));
  tray_.shut();
  transport_.reset();
  // A few are enough to see what is wrong; of thousands nobody finds the rest of a report.
  constexpr std::size_t told_max = 5;
  const auto problems = tray_.problems();
  for (const auto& problem : std::span(problems).first(std::min(problems.size(), told_max))) {
    ADD_FAILURE() << problem << " (one of " << problems.size() << " problems)";
  }
}

std::size_t TransportConformance::payload_bytes_max() {
  return std::min(transport_->traits().payload_bytes_max, MessageRules::payload_bytes_ceiling);
}

TransportConformance::Target TransportConformance::target(const std::string& text,
                                                          const spi::AddressSettings& settings) {
  return {text, transport_->address(text, settings).value()};
}

MessagePtr TransportConformance::build(NewMessage draft) {
  if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
  if (!draft.payload.given()) draft.payload = json("{}");
  return std::make_shared<const Message>(
      Message::build(std::move(draft), MessageRules{}, ids_, system_clock()).value());
}

MessagePtr TransportConformance::numbered(std::string key) {
  const auto number = std::to_string(++last_number_);
  return build({.key = std::move(key),
                .payload = json("{\"" + std::string(payload_marker) + "\":" + number + "}")});
}

spi::Parcel TransportConformance::parcel(MessagePtr message, const Target& to, Duration time) {
  const auto number = ++last_ticket_;
  return {.ticket = spi::Ticket{number},
          .message = std::move(message),
          .address = to.address,
          .table = &table_,
          .sequence = Sequence{number},
          .shard = Shard{7},
          .epoch = Epoch{3},
          .attempt = 2,
          .deadline = in(time)};
}

std::vector<spi::Parcel> TransportConformance::parcels(std::size_t count, const Target& to,
                                                       std::size_t keys, Duration time) {
  std::vector<spi::Parcel> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(parcel(numbered(keys == 0 ? "" : "key-" + std::to_string(i % keys)), to, time));
  }
  return all;
}

void TransportConformance::send(std::vector<spi::Parcel> all) {
  tray_.hand_over(all);
  transport_->send(all, tray_);
}

void TransportConformance::send_in_turn(const std::vector<spi::Parcel>& all) {
  // Several threads may do this at the same time.
  const auto batch = std::clamp<std::size_t>(in_flight_max() / 8, 1, 32);
  for (std::size_t at = 0; at < all.size(); at += batch) {
    ASSERT_TRUE(tray_.wait_for_room(in_flight_max() / 2)) << tray_.summary();
    const auto rest = std::span(all).subspan(at);
    const auto next = rest.first(std::min(batch, rest.size()));
    send({next.begin(), next.end()});
  }
  ASSERT_TRUE(tray_.wait_for_all()) << tray_.summary();
}

spi::SendResult TransportConformance::deliver(const MessagePtr& message, const Target& to,
                                              Duration time) {
  const auto one = parcel(message, to, time);
  send({one});
  EXPECT_TRUE(tray_.wait_for_all(time + OutTray::patience)) << tray_.summary();
  return tray_.result(one.ticket);
}

void TransportConformance::deliver_at_last(const Target& to) {
  // Transports connect again with backoff: a refusal before that comes at once.
  constexpr Duration pause = std::chrono::milliseconds(50);
  const auto give_up = in(ample);
  auto result = deliver(numbered(), to, std::chrono::seconds(5));
  while (result.kind != Kind::delivered && system_clock().boot_now() < give_up) {
    EXPECT_TRUE(result.kind == Kind::unreachable || result.kind == Kind::timed_out ||
                result.kind == Kind::busy || result.kind == Kind::later)
        << kind_name(result.kind) << ": " << result.error;
    std::this_thread::sleep_for(pause);
    result = deliver(numbered(), to, std::chrono::seconds(5));
  }
  EXPECT_EQ(result.kind, Kind::delivered) << result.error;
}

void TransportConformance::warm_up(const Target& to) {
  const auto result = deliver(numbered(), to);
  ASSERT_EQ(result.kind, Kind::delivered) << result.error;
}

Arrived TransportConformance::arrival_of(const MessagePtr& message) {
  const auto to = fresh_target();
  const auto result = deliver(message, to);
  EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  auto arrived = far_side_->arrived(to.text, 1);
  EXPECT_EQ(arrived.size(), 1U);
  return arrived.empty() ? Arrived{} : std::move(arrived.front());
}

void TransportConformance::expect_payload_arrives(Payload payload, std::string content_type) {
  const auto message =
      build({.payload = std::move(payload), .content_type = std::move(content_type)});
  const auto arrived = arrival_of(message);
  // Not EXPECT_EQ: a megabyte in a report helps nobody.
  EXPECT_TRUE(arrived.payload == message->payload().view())
      << arrived.payload.size() << " bytes arrived instead of " << message->payload().size()
      << ", or others";
  EXPECT_EQ(arrived.content_type, message->content_type());
}

std::vector<Arrived> TransportConformance::arrivals(const std::vector<spi::Parcel>& sent,
                                                    const Target& at) {
  auto arrived = far_side_->arrived(at.text, sent.size());
  // Others may have come before them: of a parcel that timed out, for one.
  while (!lost(sent, arrived).empty()) {
    const auto before = arrived.size();
    arrived = far_side_->arrived(at.text, before + 1);
    if (arrived.size() == before) break;
  }
  return arrived;
}

void TransportConformance::expect_arrived_once(const std::vector<spi::Parcel>& sent,
                                               const Target& at) {
  const auto arrived = arrivals(sent, at);
  EXPECT_EQ(lost(sent, arrived), "") << tray_.summary();
  EXPECT_EQ(doubled(sent, arrived), "") << tray_.summary();
}

void TransportConformance::expect_only(std::initializer_list<Kind> allowed) {
  for (const auto kind : {Kind::delivered, Kind::rejected, Kind::failed, Kind::unreachable,
                          Kind::timed_out, Kind::busy, Kind::later}) {
    if (std::find(allowed.begin(), allowed.end(), kind) != allowed.end()) continue;
    EXPECT_EQ(tray_.count(kind), 0U)
        << kind_name(kind) << " is not expected here: " << tray_.summary();
  }
}

}  // namespace sagabox::testing
