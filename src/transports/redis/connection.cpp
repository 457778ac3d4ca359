#include "transports/redis/link.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <new>

namespace sagabox::redis {
namespace {

constexpr std::size_t read_bytes = 16UL * 1024;

Error unusable(std::string message) { return {Code::provider_unavailable, std::move(message)}; }

}  // namespace

void Connection::FreeReply::operator()(redisReply* reply) const { freeReplyObject(reply); }

Connection::Connection(std::unique_ptr<transports::Stream> stream)
    : stream_(std::move(stream)), reader_(redisReaderCreate()) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

Connection::~Connection() { redisReaderFree(reader_); }

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, BootTime deadline) {
  const auto& clock = *options.clock;
  auto stream = transports::Stream::connect({.host = options.host,
                                             .port = options.port,
                                             .socket_path = options.socket_path,
                                             .tls = options.tls},
                                            deadline, clock);
  if (!stream) return stream.error();
  std::unique_ptr<Connection> connection(new Connection(std::move(*stream)));
  if (!options.password.empty()) {
    auto answer =
        options.username.empty()
            ? connection->ask({"AUTH", options.password}, deadline, clock)
            : connection->ask({"AUTH", options.username, options.password}, deadline, clock);
    if (!answer) return unusable("logging in: " + answer.error().message);
  }
  if (options.database != 0) {
    auto answer = connection->ask({"SELECT", std::to_string(options.database)}, deadline, clock);
    if (!answer) return unusable("choosing the database: " + answer.error().message);
  }
  // A server that accepts connections but is not ready reports it here, before the first message.
  auto answer = connection->ask({"PING"}, deadline, clock);
  if (!answer) return answer.error();
  return connection;
}

Result<Connection::Reply> Connection::ask(std::initializer_list<std::string_view> words,
                                          BootTime deadline, const Clock& clock) {
  std::string out;
  append_words(out, words);
  if (auto written = stream_->write_all(out, deadline, clock); !written) return written.error();
  std::array<char, read_bytes> bytes{};
  for (;;) {
    auto reply = next_reply();
    if (!reply) return reply;
    if (*reply != nullptr) {
      if ((*reply)->type == REDIS_REPLY_ERROR) {
        return unusable(error_meaning({(*reply)->str, (*reply)->len}).error);
      }
      return reply;
    }
    const auto got = stream_->read_some(bytes, deadline, clock);
    if (!got) return got.error();
    redisReaderFeed(reader_, bytes.data(), *got);
  }
}

Result<bool> Connection::receive() {
  std::array<char, read_bytes> bytes;  // NOLINT(*-member-init): read into
  const auto got = stream_->read(bytes);
  if (!got) return got.error();
  if (*got == 0) return false;
  redisReaderFeed(reader_, bytes.data(), *got);
  return true;
}

Result<Connection::Reply> Connection::next_reply() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
    return unusable(std::string("not the Redis protocol: ") + reader_->errstr);
  }
  return Reply(static_cast<redisReply*>(reply));
}

}  // namespace sagabox::redis
