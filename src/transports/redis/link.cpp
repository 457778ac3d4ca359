#include "transports/redis/link.hpp"

#include <hiredis/hiredis.h>

namespace sagabox::redis {

using Kind = spi::SendResult::Kind;

std::optional<spi::SendResult> RedisLink::post(const spi::Parcel& parcel, std::uint64_t number) {
  const auto& address = static_cast<const StreamAddress&>(*parcel.address);
  append_xadd(out_.end(), parcel, address);
  expected_.push_back({number, address.replicas});
  replicas_wanted_ = std::max(replicas_wanted_, address.replicas);
  return std::nullopt;
}

Status RedisLink::turn(BootTime, Answers& answers) {
  ask_for_replicas();
  if (auto done = write(); !done) return done;
  if (auto done = read(answers); !done) return done;
  if (!lost_.empty()) return Error{Code::provider_unavailable, lost_};
  return {};
}

/// One WAIT covers all writes on this connection before it.
void RedisLink::ask_for_replicas() {
  if (replicas_wanted_ == 0) return;
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(replicas_max_);
  append_words(out_.end(),
               {"WAIT", std::to_string(replicas_wanted_), std::to_string(longest.count())});
  expected_.push_back({});
  replicas_wanted_ = 0;
}

Status RedisLink::write() {
  return out_.flush([&](std::string_view bytes) { return connection_->stream().write(bytes); });
}

Status RedisLink::read(Answers& answers) {
  for (;;) {
    const auto received = connection_->receive();
    // Replies that were complete before the end still count.
    for (;;) {
      auto reply = connection_->next_reply();
      if (!reply) return reply.error();
      if (*reply == nullptr) break;
      if (expected_.empty()) {
        return Error{Code::provider_unavailable, "an answer that nobody asked for"};
      }
      take(**reply, answers);
    }
    if (!received) return received.error();
    if (!*received) return {};
  }
}

void RedisLink::take(const redisReply& reply, Answers& answers) {
  const auto expected = expected_.front();
  expected_.pop_front();
  if (expected.number == 0) return take_replicas(reply, answers);
  if (reply.type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply.str, reply.len);
    if (text.starts_with("READONLY")) lost_ = "this is a replica; the primary is elsewhere";
    return answers.answered(expected.number, error_meaning(text));
  }
  if (expected.replicas > 0) {
    stored_.push_back(expected);
  } else {
    answers.answered(expected.number, {});
  }
}

void RedisLink::take_replicas(const redisReply& reply, Answers& answers) {
  const auto have = reply.type == REDIS_REPLY_INTEGER ? reply.integer : 0;
  for (const auto& [number, replicas] : stored_) {
    if (have >= replicas) {
      answers.answered(number, {});
    } else {
      answers.answered(number,
                       {Kind::timed_out,
                        "Redis: the primary has it, but only " + std::to_string(have) + " of " +
                            std::to_string(replicas) + " replicas in the time allowed",
                        std::nullopt});
    }
  }
  stored_.clear();
}

}  // namespace sagabox::redis
