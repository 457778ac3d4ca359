#include "transports/nats/transport.hpp"

#include "transports/nats/findings.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace sagabox::nats {
namespace {

using Kind = spi::SendResult::Kind;
using transports::UnderWay;

/// At most this much is put into libnats' buffer: the rest waits with us, where a deadline can
/// still withdraw it.
constexpr std::size_t buffered_bytes_max = 512UL * 1024;

const spi::SendResult no_answer{Kind::timed_out,
                                "no acknowledgement from JetStream by the deadline"};
const spi::SendResult cut_off{Kind::timed_out,
                              "the server has fallen silent and its connection was given up before "
                              "the acknowledgement"};
const spi::SendResult lost{
    Kind::unreachable, "the connection was lost before the acknowledgement; it may have arrived"};

bool has_left(const UnderWay::View& view) { return view.stage != UnderWay::Stage::waiting; }

}  // namespace

NatsTransport::NatsTransport(Options options)
    : options_(std::move(options)),
      under_way_(std::make_shared<UnderWay>(options_.in_flight_max)),
      wake_(std::make_shared<transports::Wake>()),
      connector_(std::make_unique<Connector>(options_, under_way_, wake_)),
      thread_([this] { run(); }) {}

NatsTransport::~NatsTransport() { close(options_.clock->boot_now()); }

spi::TransportTraits NatsTransport::traits() const {
  // A failed message may be overtaken by those behind it on the same connection.
  return {.keeps_order = false,
          .in_flight_max = options_.in_flight_max,
          .payload_bytes_max = options_.payload_bytes_max};
}

Result<std::shared_ptr<const spi::Address>> NatsTransport::address(
    std::string_view text, const spi::AddressSettings& settings) {
  auto subject = Subject::parse(text, settings);
  if (!subject) return subject.error();
  const std::lock_guard lock(mutex_);
  const auto& made = *subject;
  return std::shared_ptr<const spi::Address>(
      subjects_.try_emplace({made->text(), made->stream()}, made).first->second);
}

void NatsTransport::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  std::vector<Admitted> taken;
  taken.reserve(parcels.size());
  under_way_->admit(parcels, results, taken);
  if (taken.empty()) return;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = incoming_.empty();
    if (was_empty) {
      incoming_ = std::move(taken);
    } else {
      std::move(taken.begin(), taken.end(), std::back_inserter(incoming_));
    }
  }
  if (was_empty) wake_->ring();
}

Result<std::vector<std::string>> NatsTransport::findings(BootTime deadline) {
  std::vector<std::string> subjects;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, subject] : subjects_) subjects.push_back(subject->text());
  }
  return find_trouble(options_, subjects, deadline);
}

void NatsTransport::close(BootTime deadline) {
  const std::lock_guard lock(closing_);
  if (!thread_.joinable()) return;
  under_way_->shut();
  under_way_->drained(deadline - options_.clock->boot_now());
  under_way_->end({Kind::unreachable, "the transport was closed before it could be sent"},
                  {Kind::timed_out, "the transport was closed before the acknowledgement"});
  ending_ = true;
  wake_->ring();
  thread_.join();
  connector_.reset();
}

void NatsTransport::run() {
  while (!ending_) {
    take_news();
    take_incoming();
    expire();
    publish_waiting();
    if (connection_ != nullptr && connection_->wants_to_write()) connection_->write();
    if (ending_) break;
    serve(wait());
  }
  connection_.reset();
  waiting_.clear();
  nats_ReleaseThreadMemory();
}

void NatsTransport::take_news() {
  auto news = connector_->news();
  if (auto* const made = std::get_if<std::unique_ptr<Connection>>(&news)) {
    connection_ = std::move(*made);
    heard_at_ = options_.clock->boot_now();
    last_error_.clear();
  } else if (const auto* const failed = std::get_if<Connector::Failed>(&news)) {
    last_error_ = failed->error;
    for (const auto& one : waiting_) {
      under_way_->finish(one.key, {Kind::unreachable, last_error_});
    }
    waiting_.clear();
  }
}

void NatsTransport::take_incoming() {
  std::vector<Admitted> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(incoming_);
  }
  std::move(taken.begin(), taken.end(), std::back_inserter(waiting_));
  if (waiting_.empty() || wanted_) return;
  wanted_ = true;
  connector_->want(nullptr);
}

spi::SendResult NatsTransport::too_large(const spi::Parcel& parcel) const {
  return {Kind::rejected,
          "too large: the payload has " + std::to_string(parcel.message->payload().size()) +
              " bytes, payload_bytes_max is " + std::to_string(options_.payload_bytes_max)};
}

void NatsTransport::publish_waiting() {
  if (connection_ == nullptr) return;
  constexpr std::size_t batch_max = 64;
  const auto now = options_.clock->boot_now();
  std::vector<UnderWay::Key> keys;
  std::vector<bool> may;
  while (!waiting_.empty() && connection_->buffered() < buffered_bytes_max) {
    // A large one is sent alone, so that the bound of the buffer holds.
    const auto is_large = [](const Admitted& one) {
      return one.parcel.message->bytes() > buffered_bytes_max / batch_max;
    };
    keys.clear();
    for (const auto& one : waiting_) {
      if (keys.size() == batch_max || (!keys.empty() && is_large(one))) break;
      keys.push_back(one.key);
      if (is_large(one)) break;
    }
    under_way_->leave(keys, now, may);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto& next = waiting_.front();
      if (next.parcel.message->payload().size() > options_.payload_bytes_max) {
        under_way_->finish(next.key, too_large(next.parcel));
      } else if (may[i]) {
        connection_->publish(next.key, next.parcel);
      }
      waiting_.pop_front();
    }
  }
}

void NatsTransport::serve(bool readable) {
  if (connection_ == nullptr) return;
  if (readable) {
    connection_->read();
    heard_at_ = options_.clock->boot_now();
  }
  if (!connection_->is_lost()) return;
  drop_connection();
  under_way_->finish_if(has_left, lost);
}

void NatsTransport::drop_connection() {
  connection_->abandon();
  connector_->want(std::move(connection_));
}

void NatsTransport::expire() {
  const auto due = under_way_->next_due();
  const auto now = options_.clock->boot_now();
  if (!due || *due > now) return;
  const bool is_connected = connection_ != nullptr;
  const spi::SendResult not_sent{
      is_connected ? Kind::later : Kind::unreachable,
      "not sent by the deadline: " + (is_connected          ? "the server takes no more"
                                      : last_error_.empty() ? "no connection to NATS yet"
                                                            : last_error_)};
  const auto expired = under_way_->expire(now, not_sent, no_answer);
  if (expired.count == 0) return;
  std::erase_if(waiting_, [&](const Admitted& one) { return !under_way_->holds(one.key); });
  // Nothing was received since one of them was sent: data still in buffers must not be sent later.
  if (connection_ != nullptr && expired.sent_at && heard_at_ <= *expired.sent_at) {
    drop_connection();
    under_way_->finish_if(has_left, cut_off);
  }
}

int NatsTransport::wait_milliseconds() const {
  const auto due = under_way_->next_due();
  if (!due) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - options_.clock->boot_now());
  constexpr std::int64_t wait_max = 60'000;
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, wait_max));
}

bool NatsTransport::wait() {
  std::array<pollfd, 2> watched{};
  watched[0] = {wake_->descriptor(), POLLIN, 0};
  nfds_t count = 1;
  if (connection_ != nullptr && !connection_->is_lost()) {
    const short events = connection_->wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    watched[count++] = {connection_->descriptor(), events, 0};
  }
  poll(watched.data(), count, wait_milliseconds());
  if (watched[0].revents != 0) wake_->silence();
  return (watched[1].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
}

namespace {

Status check(const Options& options) {
  const auto wrong = [](std::string text) {
    return Error{Code::config_invalid, "transports nats: " + std::move(text)};
  };
  if (options.servers.empty()) return wrong("servers: give at least one, nats://127.0.0.1:4222");
  if (options.in_flight_max == 0) return wrong("in_flight_max: must be at least 1");
  if (options.connect_max <= Duration::zero()) return wrong("connect_max: must be above 0");
  if (options.backoff_min <= Duration::zero() || options.backoff_max < options.backoff_min) {
    return wrong("backoff_min and backoff_max: give 0 < backoff_min <= backoff_max");
  }
  const auto& who = options.credentials;
  const auto ways = static_cast<int>(!who.user.empty()) + static_cast<int>(!who.token.empty()) +
                    static_cast<int>(!who.file.empty()) + static_cast<int>(!who.nkey.empty());
  if (ways > 1) return wrong("credentials: give user and password, token, file or nkey, one only");
  if (who.nkey.empty() != who.nkey_seed_file.empty()) {
    return wrong("credentials: nkey and nkey_seed_file go together");
  }
  if (options.tls.certificate_file.empty() != options.tls.key_file.empty()) {
    return wrong("tls: certificate_file and key_file go together");
  }
  if (auto client = client_options(options, {}); !client) return client.error();
  return {};
}

}  // namespace

Result<std::unique_ptr<spi::Transport>> open(Options options) {
  if (auto checked = check(options); !checked) return checked.error();
  return std::unique_ptr<spi::Transport>(std::make_unique<NatsTransport>(std::move(options)));
}

}  // namespace sagabox::nats
