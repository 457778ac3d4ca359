#include "transports/nats/connection.hpp"

#include "transports/nats/address.hpp"
#include "transports/nats/answer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace sagabox::nats {

using transports::UnderWay;
using transports::Wake;
using Kind = spi::SendResult::Kind;

struct Connection::Shared {
  std::shared_ptr<UnderWay> under_way;
  std::shared_ptr<Wake> wake;
  std::string streams_subject;  ///< the subject to ask for the streams of a subject
  std::string inbox;            ///< including its dot
  std::atomic<int> socket = -1;
  std::atomic<bool> wants_to_write = false;
  std::atomic<bool> lost = false;
};

namespace {

using SharedPointer = std::shared_ptr<Connection::Shared>;

// Answers come to <inbox>.<form><key in hexadecimal>.
constexpr char form_publish = 'p';
constexpr char form_streams = 's';
constexpr std::size_t token_length_max = 17;

void append_token(std::string& out, char form, UnderWay::Key key) {
  std::array<char, token_length_max - 1> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), key.packed(), 16).ptr;
  out += form;
  out.append(digits.data(), end);
}

std::optional<UnderWay::Key> key_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return UnderWay::Key::unpacked(number);
}

/// No stream answered: either none takes the subject, or its leader is unavailable. Asks which.
void inquire(natsConnection* connection, const Connection::Shared& shared, UnderWay::Key key) {
  const auto* const address = shared.under_way->inquire(key);
  if (address == nullptr) return;
  const auto& subject = static_cast<const Subject&>(*address).text();
  std::string reply = shared.inbox;
  append_token(reply, form_streams, key);
  const std::string question = R"({"subject":")" + subject + R"("})";
  const auto status =
      natsConnection_PublishRequest(connection, shared.streams_subject.c_str(), reply.c_str(),
                                    question.data(), static_cast<int>(question.size()));
  if (status != NATS_OK) shared.under_way->finish(key, no_jetstream());
}

// The callbacks of libnats. Each has its own pointer to the shared state, which the last call of
// each kind frees.

void answered(natsConnection* connection, natsSubscription*, natsMsg* raw, void* closure) {
  const MessageHandle message(raw);
  const auto& shared = **static_cast<SharedPointer*>(closure);
  const std::string_view subject = natsMsg_GetSubject(raw);
  if (subject.size() <= shared.inbox.size() + 1) return;
  const auto token = subject.substr(shared.inbox.size());
  const auto key = key_of(token.substr(1));
  if (!key) return;
  const std::string_view data(natsMsg_GetData(raw),
                              static_cast<std::size_t>(natsMsg_GetDataLength(raw)));
  const bool nobody = natsMsg_IsNoResponders(raw);
  if (token.front() == form_publish && nobody) return inquire(connection, shared, *key);
  if (token.front() == form_publish && is_plain_ack(data)) {
    return shared.under_way->finish(*key, {});
  }
  const auto* const address = shared.under_way->address_of(*key);
  if (address == nullptr) return;
  const auto& text = static_cast<const Subject&>(*address).text();
  if (token.front() == form_publish) {
    shared.under_way->finish(*key, judge_ack(data, text));
  } else {
    shared.under_way->finish(*key, nobody ? no_jetstream() : judge_streams(data, text));
  }
}

void forget(void* closure) { delete static_cast<SharedPointer*>(closure); }

/// `Permissions Violation for Publish to "billing.issued"`: such a publish gets no answer.
void complained(natsConnection* connection, natsSubscription*, natsStatus status, void* closure) {
  if (status != NATS_NOT_PERMITTED) return;
  const auto& shared = **static_cast<SharedPointer*>(closure);
  const char* raw = nullptr;
  (void)natsConnection_GetLastError(connection, &raw);
  const std::string_view text = raw == nullptr ? "" : raw;
  const auto open = text.find('"');
  const auto close = text.rfind('"');
  if (open == std::string_view::npos || close <= open) return;
  const auto subject = text.substr(open + 1, close - open - 1);
  if (subject == shared.streams_subject) {
    shared.under_way->finish_if(
        [](const UnderWay::View& view) { return view.stage == UnderWay::Stage::inquired; },
        {Kind::rejected,
         "unroutable: no stream answers; whether there is one may not be asked by this user"});
    return;
  }
  shared.under_way->finish_if(
      [&](const UnderWay::View& view) {
        return view.stage == UnderWay::Stage::sent &&
               static_cast<const Subject&>(view.address).text() == subject;
      },
      {Kind::rejected, "nats:" + std::string(subject) +
                           ": this user may not publish to it; grant it in the server's "
                           "permissions"});
}

void closed(natsConnection*, void* closure) { forget(closure); }

/// The kernel detects a dead peer while the connection is idle: libnats' own pings would close the
/// socket from another thread.
void keep_alive(int socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

natsStatus attached(void** user_data, void* loop, natsConnection*, natsSock socket) {
  const auto& shared = *static_cast<SharedPointer*>(loop);
  shared->socket = socket;
  keep_alive(socket);
  *user_data = loop;
  return NATS_OK;
}

natsStatus reading(void*, bool) { return NATS_OK; }

natsStatus writing(void* user_data, bool add) {
  const auto& shared = *static_cast<SharedPointer*>(user_data);
  shared->wants_to_write = add;
  if (add) shared->wake->ring();
  return NATS_OK;
}

natsStatus detached(void* user_data) {
  auto* const shared = static_cast<SharedPointer*>(user_data);
  (*shared)->lost = true;
  (*shared)->wake->ring();
  delete shared;
  return NATS_OK;
}

}  // namespace

Connection::Connection(natsConnection* connection, std::shared_ptr<Shared> shared)
    : connection_(connection), shared_(std::move(shared)) {}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options,
                                                     const std::vector<std::string>& more_servers,
                                                     std::shared_ptr<UnderWay> under_way,
                                                     std::shared_ptr<Wake> wake) {
  auto made = client_options(options, more_servers);
  if (!made) return made.error();
  auto* const client = made->get();
  auto shared = std::make_shared<Shared>();
  shared->under_way = std::move(under_way);
  shared->wake = std::move(wake);
  shared->streams_subject = options.api_prefix + ".STREAM.NAMES";

  auto for_loop = std::make_unique<SharedPointer>(shared);
  auto for_callbacks = std::make_unique<SharedPointer>(shared);
  natsOptions_SetAllowReconnect(client, false);
  natsOptions_SetPingInterval(client, 0);  // the kernel does it, see attached()
  natsOptions_SetSendAsap(client, true);   // we do its I/O: it needs no thread to flush
  natsOptions_SetErrorHandler(client, complained, for_callbacks.get());
  natsOptions_SetClosedCB(client, closed, for_callbacks.get());
  natsOptions_SetEventLoop(client, for_loop.get(), attached, reading, writing, detached);
  natsConnection* raw = nullptr;
  if (const auto status = natsConnection_Connect(&raw, client); status != NATS_OK) {
    return Error{Code::provider_unavailable, "cannot connect to NATS: " + trouble(status)};
  }
  // `detached` and `closed` free them.
  (void)for_loop.release();       // NOLINT(bugprone-unused-return-value)
  (void)for_callbacks.release();  // NOLINT(bugprone-unused-return-value)
  std::unique_ptr<Connection> connection(new Connection(raw, shared));

  natsInbox* inbox = nullptr;
  auto for_answers = std::make_unique<SharedPointer>(shared);
  auto status = natsInbox_Create(&inbox);
  if (status == NATS_OK) {
    shared->inbox = std::string(inbox) + ".";
    natsInbox_Destroy(inbox);
    status = natsConnection_Subscribe(&connection->inbox_, raw, (shared->inbox + "*").c_str(),
                                      answered, for_answers.get());
  }
  if (status == NATS_OK) {
    status = natsSubscription_SetOnCompleteCB(connection->inbox_, forget, for_answers.get());
    (void)for_answers.release();  // NOLINT(bugprone-unused-return-value): by `forget`
    natsSubscription_SetPendingLimits(connection->inbox_, -1, -1);
  }
  if (status != NATS_OK) {
    return Error{Code::provider_unavailable, "cannot listen for answers: " + trouble(status)};
  }
  return connection;
}

Connection::~Connection() {
  abandon();
  natsConnection_Destroy(connection_);
  natsSubscription_Destroy(inbox_);
}

void Connection::publish(UnderWay::Key key, const spi::Parcel& parcel) {
  reply_ = shared_->inbox;
  append_token(reply_, form_publish, key);
  const auto made = publication_.make(parcel, reply_);
  const auto bytes_max = natsConnection_GetMaxPayload(connection_);
  if (made.message == nullptr) {
    return shared_->under_way->finish(key, {Kind::failed, "no memory for a message to NATS"});
  }
  if (bytes_max > 0 && made.bytes > static_cast<std::size_t>(bytes_max)) {
    return shared_->under_way->finish(
        key, {Kind::rejected, "too large: " + std::to_string(made.bytes) +
                                  " bytes with headers, the server's max_payload is " +
                                  std::to_string(bytes_max)});
  }
  const auto status = natsConnection_PublishMsg(connection_, made.message.get());
  if (status == NATS_OK) return;
  shared_->under_way->finish(key,
                             {status == NATS_NO_SERVER_SUPPORT ? Kind::rejected : Kind::unreachable,
                              "not sent: " + trouble(status)});
}

std::size_t Connection::buffered() const {
  const auto bytes = natsConnection_Buffered(connection_);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

std::vector<std::string> Connection::discovered_servers() const {
  char** servers = nullptr;
  int count = 0;
  std::vector<std::string> names;
  if (natsConnection_GetDiscoveredServers(connection_, &servers, &count) != NATS_OK) return names;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(servers[i]);
    std::free(servers[i]);
  }
  std::free(servers);
  return names;
}

int Connection::descriptor() const noexcept { return shared_->socket; }
bool Connection::wants_to_write() const noexcept { return shared_->wants_to_write; }
void Connection::read() { natsConnection_ProcessReadEvent(connection_); }
void Connection::write() { natsConnection_ProcessWriteEvent(connection_); }
bool Connection::is_lost() const { return shared_->lost; }

void Connection::abandon() {
  if (is_lost()) return;
  const int socket = shared_->socket;
  // The close resets the connection, so that the kernel discards unsent data. libnats detects it
  // while it reads, because its own close would first try to send the rest.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  shutdown(socket, SHUT_RDWR);
  // Data that has arrived is read first.
  constexpr int reads_max = 10'000;
  for (int i = 0; i < reads_max && !is_lost(); ++i) read();
}

}  // namespace sagabox::nats
