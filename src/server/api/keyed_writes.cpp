#include "server/api/keyed_writes.hpp"

#include "server/api/problem.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace sagabox::server {
namespace {

constexpr auto purge_every = std::chrono::minutes(1);
constexpr std::uint32_t purge_rows_max = 1000;
constexpr std::string_view content_type = "Content-Type";

HttpAnswer answer_of(const Response& response) {
  HttpAnswer answer{.status = response.status, .body = response.body};
  answer.headers.emplace_back(content_type, response.content_type);
  answer.headers.insert(answer.headers.end(), response.headers.begin(), response.headers.end());
  return answer;
}

Response response_of(HttpAnswer answer) {
  Response response{.status = answer.status, .body = std::move(answer.body)};
  for (auto& header : answer.headers) {
    if (header.first == content_type) {
      response.content_type = std::move(header.second);
    } else {
      response.headers.push_back(std::move(header));
    }
  }
  return response;
}

}  // namespace

KeyedWrites::KeyedWrites(spi::IdempotencyStore& store, HttpIdempotencyOptions options, Logger& log,
                         const Clock& clock)
    : store_(store), http_(store, std::move(options)), log_(log), clock_(clock), thread_([this] {
        run();
      }) {}

KeyedWrites::~KeyedWrites() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::variant<HttpIdempotency::Pass, Response> KeyedWrites::begin(const Request& request,
                                                                 const Caller& caller) {
  HttpKeyedRequest keyed{.method = request.method,
                         .target = request.target,
                         .body = request.body,
                         .caller = caller.key_id.empty() ? caller.actor : caller.key_id};
  if (caller.tenant) keyed.tenant = *caller.tenant;
  for (const auto& [name, value] : request.headers) {
    if (name == "idempotency-key") keyed.keys.emplace_back(value);
  }
  auto begun = http_.begin(keyed);
  if (!begun.ok()) {
    auto refused = problem(begun.error(), caller.tenant ? Detail::own_faults : Detail::full);
    const bool comes_later = begun.error().code == Code::tx_idempotent_busy;
    if (comes_later) refused.headers.emplace_back("Retry-After", "1");
    return refused;
  }
  if (auto* const answer = std::get_if<HttpAnswer>(&*begun)) return response_of(std::move(*answer));
  return std::get<HttpIdempotency::Pass>(std::move(*begun));
}

Reply KeyedWrites::keeping(HttpIdempotency::Pass pass, Reply reply) {
  if (!pass.key) return reply;
  return [this, pass = std::move(pass), reply = std::move(reply)](Response response) {
    {
      const std::scoped_lock lock(mutex_);
      answered_.push_back({pass, std::move(response), reply});
    }
    changed_.notify_one();
  };
}

void KeyedWrites::run() {
  auto purge_at = clock_.boot_now() + purge_every;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto wait = std::clamp<Duration>(purge_at - clock_.boot_now(), {}, purge_every);
    changed_.wait_for(lock, wait, [&] { return stopping_ || !answered_.empty(); });
    auto answered = std::exchange(answered_, {});
    if (stopping_ && answered.empty()) return;
    lock.unlock();
    give(std::move(answered));
    // One batch at a time, so that answers do not wait for all expired keys.
    if (const auto now = clock_.boot_now(); now >= purge_at) {
      purge_at = purge() ? now + purge_every : now;
    }
    lock.lock();
  }
}

void KeyedWrites::give(std::vector<Answered> answered) {
  if (answered.empty()) return;
  try {
    keep(answered);
  } catch (const std::exception& thrown) {
    not_kept({Code::unknown_internal, thrown.what()});
  }
  for (auto& one : answered) one.reply(std::move(one.response));
}

void KeyedWrites::keep(const std::vector<Answered>& answered) {
  std::vector<HttpIdempotency::Answered> all;
  all.reserve(answered.size());
  for (const auto& one : answered) all.push_back({one.pass, answer_of(one.response)});
  for (const auto& kept : http_.finish(all)) {
    if (!kept.ok()) not_kept(kept.error());
  }
}

void KeyedWrites::not_kept(const Error& error) {
  log_.log(LogLevel::warning, "answer not kept",
           {{"code", code_name(error.code)}, {"error", std::string_view(error.message)}});
}

bool KeyedWrites::purge() try {
  const auto removed = store_.purge({.rows_max = purge_rows_max});
  if (!removed.ok()) {
    log_.log(LogLevel::warning, "expired idempotency keys not removed",
             {{"code", code_name(removed.error().code)},
              {"error", std::string_view(removed.error().message)}});
  }
  return !removed.ok() || *removed < purge_rows_max;
} catch (const std::exception& thrown) {
  log_.log(LogLevel::warning, "expired idempotency keys not removed",
           {{"error", std::string_view(thrown.what())}});
  return true;
}

}  // namespace sagabox::server
