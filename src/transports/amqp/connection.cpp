#include "transports/amqp/connection.hpp"

#include <algorithm>
#include <new>

namespace sagabox::amqp {
namespace {

constexpr std::uint32_t frame_bytes_wanted = 128UL * 1024;
constexpr std::uint16_t channels_wanted = 2047;

Error unusable(std::string message) { return {Code::provider_unavailable, std::move(message)}; }

/// 0 means no bound.
template <class T>
T lower(T theirs, T ours) {
  return theirs == 0 ? ours : std::min(theirs, ours);
}

amqp_table_entry_t flag(const char* name) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

void append_start_ok(std::string& out, const Options& options) {
  std::array capabilities{flag("publisher_confirms"), flag("basic.nack"),
                          flag("connection.blocked"), flag("authentication_failure_close")};
  std::array<amqp_table_entry_t, 2> properties{};
  properties[0].key = amqp_cstring_bytes("product");
  properties[0].value.kind = AMQP_FIELD_KIND_UTF8;
  properties[0].value.value.bytes = amqp_cstring_bytes("sagabox");
  properties[1].key = amqp_cstring_bytes("capabilities");
  properties[1].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[1].value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  std::string login;
  const bool external = options.username.empty();
  if (!external) {
    login.append(1, '\0').append(options.username).append(1, '\0').append(options.password);
  }
  amqp_connection_start_ok_t start{};
  start.client_properties = {static_cast<int>(properties.size()), properties.data()};
  start.mechanism = amqp_cstring_bytes(external ? "EXTERNAL" : "PLAIN");
  start.response = as_bytes(login);
  start.locale = amqp_cstring_bytes("en_US");
  append_method(out, 0, AMQP_CONNECTION_START_OK_METHOD, &start);
}

}  // namespace

std::string closing_text(std::uint16_t code, std::string_view text) {
  constexpr std::size_t shown_max = 200;
  return std::to_string(code) + " " + std::string(text.substr(0, shown_max));
}

Connection::Connection(std::unique_ptr<transports::Stream> stream)
    : stream_(std::move(stream)), state_(amqp_new_connection()) {
  if (state_ == nullptr) throw std::bad_alloc();
}

Connection::~Connection() { amqp_destroy_connection(state_); }

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, BootTime deadline) {
  auto stream = transports::Stream::connect(
      {.host = options.host, .port = options.port, .tls = options.tls}, deadline, *options.clock);
  if (!stream) return stream.error();
  std::unique_ptr<Connection> connection(new Connection(std::move(*stream)));
  if (auto shaken = connection->shake_hands(options, deadline); !shaken) return shaken.error();
  return connection;
}

Status Connection::shake_hands(const Options& options, BootTime deadline) {
  const auto& clock = *options.clock;
  using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace)
  if (auto done = stream_->write_all("AMQP\0\0\x09\x01"sv, deadline, clock); !done) return done;
  if (auto start = expect(AMQP_CONNECTION_START_METHOD, deadline, clock); !start) {
    return start.error();
  }
  std::string out;
  append_start_ok(out, options);
  if (auto done = stream_->write_all(out, deadline, clock); !done) return done;

  auto method = expect(AMQP_CONNECTION_TUNE_METHOD, deadline, clock);
  if (!method) return unusable("logging in: " + method.error().message);
  const auto tune = *static_cast<amqp_connection_tune_t*>(method->decoded);
  frame_max_ =
      std::max<std::uint32_t>(lower(tune.frame_max, frame_bytes_wanted), AMQP_FRAME_MIN_SIZE);
  channel_max_ = lower(tune.channel_max, channels_wanted);
  heartbeat_ = options.heartbeat;
  if (amqp_tune_connection(state_, channel_max_, static_cast<int>(frame_max_), 0) !=
      AMQP_STATUS_OK) {
    return unusable("no memory for the server's frames");
  }

  amqp_connection_tune_ok_t tuned{};
  tuned.channel_max = channel_max_;
  tuned.frame_max = frame_max_;
  tuned.heartbeat = static_cast<std::uint16_t>(heartbeat_.count());
  amqp_connection_open_t open{};
  open.virtual_host = as_bytes(options.virtual_host);
  out.clear();
  append_method(out, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &tuned);
  append_method(out, 0, AMQP_CONNECTION_OPEN_METHOD, &open);
  if (auto done = stream_->write_all(out, deadline, clock); !done) return done;
  if (auto opened = expect(AMQP_CONNECTION_OPEN_OK_METHOD, deadline, clock); !opened) {
    return unusable("opening the virtual host: " + opened.error().message);
  }
  return {};
}

Result<amqp_method_t> Connection::expect(amqp_method_number_t id, BootTime deadline,
                                         const Clock& clock, amqp_method_number_t instead) {
  for (;;) {
    auto frame = next_frame();
    if (!frame) return frame.error();
    if (frame->frame_type == 0) {
      in_begin_ = 0;
      in_end_ = 0;
      const auto got = stream_->read_some(in_, deadline, clock);
      if (!got) return got.error();
      in_end_ = *got;
    } else if (frame->frame_type == AMQP_FRAME_METHOD &&
               (frame->payload.method.id == id || frame->payload.method.id == instead)) {
      return frame->payload.method;
    } else if (frame->frame_type == AMQP_FRAME_METHOD &&
               frame->payload.method.id == AMQP_CONNECTION_CLOSE_METHOD) {
      const auto& close = *static_cast<amqp_connection_close_t*>(frame->payload.method.decoded);
      return unusable(closing_text(close.reply_code, as_text(close.reply_text)));
    } else if (frame->frame_type != AMQP_FRAME_HEARTBEAT) {
      return unusable("an unexpected frame; is AMQP 0-9-1 spoken there?");
    }
  }
}

Result<std::string> Connection::look_for(const RoutingAddress& address, amqp_channel_t channel,
                                         BootTime deadline, const Clock& clock) {
  const bool is_queue = address.exchange.empty();
  amqp_channel_open_t open{};
  // Passive: the queue is not created, and only the name is compared.
  amqp_queue_declare_t queue{.queue = as_bytes(address.key), .passive = 1};
  amqp_exchange_declare_t exchange{.exchange = as_bytes(address.exchange), .passive = 1};
  std::string out;
  append_method(out, channel, AMQP_CHANNEL_OPEN_METHOD, &open);
  if (is_queue) {
    append_method(out, channel, AMQP_QUEUE_DECLARE_METHOD, &queue);
  } else {
    append_method(out, channel, AMQP_EXCHANGE_DECLARE_METHOD, &exchange);
  }
  if (auto done = stream_->write_all(out, deadline, clock); !done) return done.error();
  if (auto opened = expect(AMQP_CHANNEL_OPEN_OK_METHOD, deadline, clock); !opened) {
    return opened.error();
  }
  const auto there = is_queue ? AMQP_QUEUE_DECLARE_OK_METHOD : AMQP_EXCHANGE_DECLARE_OK_METHOD;
  auto answer = expect(there, deadline, clock, AMQP_CHANNEL_CLOSE_METHOD);
  if (!answer) return answer.error();
  if (answer->id == there) return std::string();
  const auto& close = *static_cast<amqp_channel_close_t*>(answer->decoded);
  return closing_text(close.reply_code, as_text(close.reply_text));
}

Result<bool> Connection::receive() {
  in_begin_ = 0;
  in_end_ = 0;
  const auto got = stream_->read(in_);
  if (!got) return got.error();
  in_end_ = *got;
  return *got > 0;
}

Result<amqp_frame_t> Connection::next_frame() {
  amqp_maybe_release_buffers_on_channel(state_, last_channel_);
  amqp_frame_t frame{};
  while (in_begin_ < in_end_) {
    const int taken =
        amqp_handle_input(state_, {in_end_ - in_begin_, in_.data() + in_begin_}, &frame);
    if (taken < 0) return unusable(std::string("not AMQP 0-9-1: ") + amqp_error_string2(taken));
    in_begin_ += static_cast<std::size_t>(taken);
    if (frame.frame_type != 0) {
      last_channel_ = frame.channel;
      break;
    }
    if (taken == 0) break;
  }
  return frame;
}

}  // namespace sagabox::amqp
