#include "server/http/session.hpp"

#include "server/api/problem.hpp"
#include "server/http/response_text.hpp"

#include <utility>

namespace sagabox::server {
namespace {

/// How much data of a client is read after a last answer, so that the answer is not lost when the
/// connection is closed.
constexpr std::size_t linger_bytes_max = 4UL * 1024 * 1024;
/// A violation of HTTP itself, or of a limit.
Code code_of(const ReadProblem& problem) {
  return problem.status == 413 || problem.status == 431 ? Code::request_too_large
                                                        : Code::request_invalid;
}

constexpr Duration linger_timeout_at_stop = std::chrono::milliseconds(100);

std::string shown(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return std::to_string(whole) + " ms";
}

}  // namespace

std::shared_ptr<Session> SessionList::longest_idle(BootTime since) const {
  std::shared_ptr<Session> found;
  for (auto& session : all()) {
    const auto idle = session->idle_since();
    if (idle > since || (found && idle >= found->idle_since())) continue;
    found = std::move(session);
  }
  return found;
}

Session::Session(SessionContext& context, std::unique_ptr<Wire> wire)
    : context_(context),
      registered_{context.sessions, this},
      wire_(std::move(wire)),
      reader_({.header_bytes_max = context.options.header_bytes_max,
               .body_bytes_max = context.options.body_bytes_max,
               .unused_body_bytes_max = context.options.unused_body_bytes_max}) {}

void Session::start() {
  wire_->run([self = shared_from_this()] {
    if (self->finishing()) return self->close();
    self->enter(Phase::opening, self->options().header_timeout);
    self->wire_->open([self](Wire::End end, std::size_t) {
      if (self->phase_ == Phase::ended) return;
      if (end != Wire::End::done) return self->close();
      self->wait_for_request();
    });
  });
}

void Session::finish() {
  wire_->run([self = shared_from_this()] {
    self->finishing_ = true;
    if (self->phase_ == Phase::opening) return self->close();
    // Not closed: data that was read just now may be a request, which will be answered.
    if (self->is_reading()) self->wire_->give_up();
    if (self->phase_ == Phase::ending) self->enter(Phase::ending, linger_timeout_at_stop);
  });
}

void Session::cut() {
  wire_->run([self = shared_from_this()] { self->close(); });
}

bool Session::is_reading() const {
  return phase_ == Phase::idle || phase_ == Phase::header || phase_ == Phase::body;
}

void Session::enter(Phase phase, Duration limit) {
  phase_ = phase;
  const auto since = phase == Phase::idle ? options().clock->boot_now() : BootTime::max();
  idle_since_.store(since.time_since_epoch().count(), std::memory_order_relaxed);
  wire_->limit(limit, [self = shared_from_this()] { self->too_late(); });
}

void Session::too_late() {
  if (phase_ == Phase::answering) {
    ++asked_;
    const bool harmless = method_ == "GET" || method_ == "HEAD";
    return refuse(
        504, harmless ? Code::tx_timeout : Code::storage_in_doubt,
        "no answer within " + shown(options().answer_timeout) +
            (harmless ? "" : "; it may still happen: look, or repeat it with the same id"));
  }
  if (late_ || (phase_ != Phase::header && phase_ != Phase::body)) return close();
  late_ = true;
  // A read or write that has just completed is not cancelled, and another may follow.
  enter(phase_, options().linger_timeout);
  wire_->give_up();
}

void Session::close() {
  phase_ = Phase::ended;
  ++asked_;
  wire_->close();
}

/// Waits for its first byte, as long as a connection may be idle.
void Session::wait_for_request() {
  late_ = false;
  admission_ = {};
  method_.clear();
  request_id_.clear();
  begun_ = options().clock->boot_now();
  if (!reader_.is_between()) {
    enter(Phase::header, options().header_timeout);
    return advance();
  }
  if (finishing()) return close();
  enter(Phase::idle, options().idle_timeout);
  read_more();
}

void Session::read_more() {
  wire_->read_some(bytes_, [self = shared_from_this()](Wire::End end, std::size_t bytes) {
    self->have_read(end, bytes);
  });
}

void Session::have_read(Wire::End end, std::size_t bytes) {
  if (phase_ == Phase::ended) return;
  if (end == Wire::End::given_up || late_) return have_not_read();
  if (end != Wire::End::done) return close();
  reader_.feed({bytes_.data(), bytes});
  if (phase_ == Phase::idle) {
    begun_ = options().clock->boot_now();
    enter(Phase::header, options().header_timeout);
  }
  advance();
}

void Session::have_not_read() {
  if (phase_ == Phase::idle) return close();
  if (late_) {
    const auto limit = phase_ == Phase::header ? options().header_timeout : options().body_timeout;
    return refuse(408, Code::tx_timeout,
                  std::string("the ") + (phase_ == Phase::header ? "header" : "body") +
                      " did not come within " + shown(limit));
  }
  refuse(503, Code::server_busy, "the server stops; try again after a second");
}

void Session::advance() {
  for (;;) {
    switch (reader_.next()) {
      case RequestReader::Step::needs_more:
        if (late_ || finishing()) return have_not_read();
        if (phase_ == Phase::body && !body_.grow_to(reader_.body_bytes())) {
          return refuse(503, Code::server_busy,
                        "too many large requests come at once; try again after a second");
        }
        return read_more();
      case RequestReader::Step::header:
        if (!have_header()) return;
        break;
      case RequestReader::Step::request:
        return have_request();
      case RequestReader::Step::problem:
        return refuse(reader_.problem().status, code_of(reader_.problem()),
                      reader_.problem().message);
    }
  }
}

bool Session::have_header() {
  const auto& request = reader_.request();
  method_ = request.method;
  request_id_ = fitting_header(request, "x-request-id", MessageRules::request_id_length_max);
  begun_ = options().clock->boot_now();
  keep_alive_ = reader_.keep_alive();
  admission_ = context_.handler.admit(request);
  if (admission_.refused) {
    // The body is not read, so its end is unknown.
    keep_alive_ = keep_alive_ && !reader_.announces_body();
    write(std::move(*admission_.refused));
    return false;
  }
  body_ = BodyBudget::Hold(context_.bodies);
  if (!body_.grow_to(reader_.content_length().value_or(0))) {
    refuse(503, Code::server_busy,
           "too many large requests come at once; try again after a second");
    return false;
  }
  enter(Phase::body, options().body_timeout);
  if (!reader_.expects_continue() || !reader_.announces_body()) return true;
  let_send();
  return false;
}

void Session::let_send() {
  wire_->write(go_on_text, {}, [self = shared_from_this()](Wire::End end, std::size_t) {
    if (self->phase_ == Phase::ended) return;
    if (end != Wire::End::done) return self->close();
    self->advance();
  });
}

void Session::have_request() {
  enter(Phase::answering, options().answer_timeout);
  auto answered = [self = shared_from_this(), number = ++asked_](Response response) {
    self->wire_->run_now([self, number, response = std::move(response)]() mutable {
      self->have_answer(number, std::move(response));
    });
  };
  Task task{
      .request = reader_.take_request(), .reply = std::move(answered), .body = std::move(body_)};
  const auto brief_bytes_max = admission_.brief_bytes_max;
  const bool brief = brief_bytes_max && task.request.body.size() <= *brief_bytes_max;
  if (!brief) return context_.workers.take(std::move(task));
  context_.handler.begin(task.request, task.reply);
}

void Session::have_answer(std::uint64_t number, Response response) {
  if (phase_ == Phase::answering && number == asked_) write(std::move(response));
}

void Session::refuse(unsigned status, Code code, std::string message) {
  keep_alive_ = false;
  write(problem(status, {code, std::move(message)}));
}

void Session::write(Response response) {
  body_ = {};
  keep_alive_ = keep_alive_ && !finishing();
  context_.watch.answered({.method = method_,
                           .request_id = request_id_,
                           .operation = admission_.operation,
                           .key_id = admission_.key_id,
                           .status = response.status,
                           .took = options().clock->boot_now() - begun_});
  answer_head_ = response_head(response, keep_alive_);
  answer_body_ = method_ == "HEAD" ? std::string() : std::move(response.body);
  enter(Phase::writing, options().write_timeout);
  wire_->write(answer_head_, answer_body_, [self = shared_from_this()](Wire::End end, std::size_t) {
    self->have_written(end);
  });
}

void Session::have_written(Wire::End end) {
  if (phase_ == Phase::ended) return;
  if (end != Wire::End::done) return close();
  if (!keep_alive_) return hang_up();
  reader_.next_request();
  wait_for_request();
}

void Session::hang_up() {
  enter(Phase::ending, finishing() ? linger_timeout_at_stop : options().linger_timeout);
  wire_->end([self = shared_from_this()](Wire::End end, std::size_t) {
    if (self->phase_ == Phase::ended) return;
    if (end != Wire::End::done) return self->close();
    self->drain(0);
  });
}

void Session::drain(std::size_t so_far) {
  if (so_far > linger_bytes_max) return close();
  wire_->drain_some(bytes_, [self = shared_from_this(), so_far](Wire::End end, std::size_t bytes) {
    if (self->phase_ == Phase::ended) return;
    if (end != Wire::End::done) return self->close();
    self->drain(so_far + bytes);
  });
}

}  // namespace sagabox::server
