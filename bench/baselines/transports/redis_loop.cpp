#include "bench/baselines/transports/redis_loop.hpp"

#include "bench/baselines/transports/attributes.hpp"
#include "bench/measure.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace sagabox::bench::baselines {
namespace {

using Connection = std::unique_ptr<redisContext, decltype(&redisFree)>;

void append(redisContext& connection, const std::string& stream, const spi::Parcel& parcel) {
  std::vector<std::string> words{"XADD",
                                 stream,
                                 "*",
                                 "data",
                                 std::string(parcel.message->payload().view()),
                                 "datacontenttype",
                                 parcel.message->content_type()};
  for_each_attribute(parcel, "", [&](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  });
  std::vector<const char*> pointers;
  std::vector<std::size_t> lengths;
  for (const auto& word : words) {
    pointers.push_back(word.data());
    lengths.push_back(word.size());
  }
  redisAppendCommandArgv(&connection, static_cast<int>(words.size()), pointers.data(),
                         lengths.data());
}

void take_reply(redisContext& connection) {
  void* reply = nullptr;
  if (redisGetReply(&connection, &reply) != REDIS_OK) throw std::runtime_error(connection.errstr);
  const bool failed = static_cast<redisReply*>(reply)->type == REDIS_REPLY_ERROR;
  freeReplyObject(reply);
  if (failed) throw std::runtime_error("Redis refused a message of the baseline");
}

}  // namespace

double redis_loop(std::uint16_t port, const std::string& to, std::uint32_t messages,
                  std::uint32_t window, const std::function<spi::Parcel(std::uint32_t)>& parcel) {
  const Connection connection(redisConnect("127.0.0.1", port), redisFree);
  if (connection == nullptr || connection->err != 0) throw std::runtime_error("no Redis");
  const auto begin = Steady::now();
  for (std::uint32_t sent = 0; sent < messages;) {
    const auto count = std::min(window, messages - sent);
    for (std::uint32_t i = 0; i < count; ++i) append(*connection, to, parcel(sent + i));
    for (std::uint32_t i = 0; i < count; ++i) take_reply(*connection);
    sent += count;
  }
  return messages / seconds_since(begin);
}

}  // namespace sagabox::bench::baselines
