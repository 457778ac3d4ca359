#include "server/api/keyed_writes.hpp"

#include "server/api/problem.hpp"

#include <exception>
#include <utility>

namespace sagabox::server {
namespace {

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

KeyedWrites::KeyedWrites(spi::IdempotencyStore& store, HttpIdempotencyOptions options, Logger& log)
    : http_(store, std::move(options)), log_(log), thread_([this] { run(); }) {}

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
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !answered_.empty(); });
    auto answered = std::exchange(answered_, {});
    if (answered.empty()) return;
    lock.unlock();
    give(std::move(answered));
    lock.lock();
  }
}

void KeyedWrites::give(std::vector<Answered> answered) {
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

}  // namespace sagabox::server
