#pragma once

#include "support/sqlite_database.hpp"

#include <sagabox/random.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace sagabox::crash {

struct ParticipantOptions {
  std::string book{};  ///< a SQLite file
  std::uint64_t seed = 1;
  // Of a thousand calls:
  std::uint64_t busy = 0;  ///< answered with 503, without effect
  std::uint64_t late = 0;  ///< slow before or behind the commit, often past the caller's deadline
  std::uint64_t accepts = 0;  ///< done, and answered with 202 and a reply some time after
  std::uint64_t drops = 0;    ///< cut off behind the commit
  std::uint64_t dies = 0;     ///< SIGKILL behind the commit
  bool forgets_keys = false;  ///< does everything again that comes again
  /// Replies to what was accepted, by its token; false: to be tried again.
  std::function<bool(const std::string& token, const std::string& output)> reply{};
};

/// Serves steps of sagas. Call, answer and effect are one transaction of its book, so that it may
/// be asked again whenever it was cut off.
class Participant {
 public:
  explicit Participant(ParticipantOptions options)
      : options_(std::move(options)),
        random_(seeded_random(options_.seed)),
        book_(testing::connect_sqlite(options_.book, std::chrono::minutes(1))) {
    // Survives the end of the process, which is all that happens here.
    testing::run_sql(book_.get(), "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    testing::run_sql(book_.get(), R"(
      CREATE TABLE IF NOT EXISTS call (key TEXT PRIMARY KEY, saga TEXT, step TEXT, direction TEXT,
                                       status INTEGER, asked INTEGER);
      CREATE TABLE IF NOT EXISTS execution (name TEXT PRIMARY KEY, state TEXT);
      CREATE TABLE IF NOT EXISTS effect (saga TEXT, step TEXT, direction TEXT);
      CREATE TABLE IF NOT EXISTS reply (token TEXT, output TEXT, replied INTEGER))");
  }

  /// Never returns. The port is one that the test holds for us.
  [[noreturn]] void listen(std::uint16_t port) {
    using boost::asio::ip::tcp;
    const tcp::endpoint endpoint(boost::asio::ip::address_v4::loopback(), port);
    tcp::acceptor acceptor(context_);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(boost::asio::socket_base::reuse_address(true));
    acceptor.set_option(
        boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>(true));
    acceptor.bind(endpoint);
    acceptor.listen();
    if (options_.reply) std::thread([this] { reply_to_accepted(); }).detach();
    for (;;) {
      std::thread([this, socket = acceptor.accept()]() mutable { serve(socket); }).detach();
    }
  }

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Socket = boost::asio::ip::tcp::socket;
  enum class Fault : std::uint8_t { none, busy, late_before, late_behind, accepts, drops, dies };

  /// Request after request, until one of the two leaves.
  void serve(Socket& socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    boost::system::error_code ended;
    for (;;) {
      Request request;
      http::read(socket, buffer, request, ended);
      if (ended) return;
      const auto [fault, wait] = draw();
      unsigned status = 503;
      if (fault == Fault::late_before) std::this_thread::sleep_for(wait);
      if (fault != Fault::busy) status = work(request, fault == Fault::accepts);
      if (fault == Fault::late_behind) std::this_thread::sleep_for(wait);
      if (fault == Fault::dies) std::raise(SIGKILL);
      if (fault == Fault::drops) return;
      http::response<http::string_body> response(static_cast<http::status>(status),
                                                 request.version());
      response.keep_alive(request.keep_alive());
      if (status == 200) response.body() = output(request);
      response.prepare_payload();
      http::write(socket, response, ended);
      if (ended || !request.keep_alive()) return;
    }
  }

  std::pair<Fault, std::chrono::milliseconds> draw() {
    const std::scoped_lock lock(mutex_);
    const std::chrono::milliseconds wait(100 + random_->below(700));
    auto rest = random_->below(1000);
    const auto falls_on = [&](std::uint64_t share) {
      if (rest < share) return true;
      rest -= share;
      return false;
    };
    if (falls_on(options_.busy)) return {Fault::busy, wait};
    if (falls_on(options_.late)) {
      return {rest % 2 == 0 ? Fault::late_before : Fault::late_behind, wait};
    }
    if (falls_on(options_.accepts)) return {Fault::accepts, wait};
    if (falls_on(options_.drops)) return {Fault::drops, wait};
    return {falls_on(options_.dies) ? Fault::dies : Fault::none, wait};
  }

  static std::string header(const Request& request, const char* name) {
    const auto value = request[name];
    return {value.data(), value.size()};
  }
  static std::string ticket(const Request& request) { return "t-" + header(request, "Saga-Id"); }
  static std::string output(const Request& request) {
    return R"({"ticket":")" + ticket(request) + R"("})";
  }
  static std::string quoted(const std::string& text) { return "'" + text + "'"; }

  /// As long as one has not come through, also after a restart.
  void reply_to_accepted() {
    const auto book = testing::connect_sqlite(options_.book, std::chrono::minutes(1));
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (const auto& row : testing::rows_of(
               book.get(), "SELECT rowid, token, output FROM reply WHERE replied = 0")) {
        if (!options_.reply(row[1], row[2])) continue;
        testing::run_sql(book.get(), "UPDATE reply SET replied = 1 WHERE rowid = " + row[0]);
      }
    }
  }

  /// The status of the answer.
  unsigned work(const Request& request, bool accepts) {
    const std::scoped_lock lock(mutex_);
    const auto sql = [this](const std::string& text) {
      return testing::run_sql(book_.get(), text);
    };
    const auto key = quoted(header(request, "Idempotency-Key"));
    const auto saga = header(request, "Saga-Id");
    const auto step = header(request, "Saga-Step");
    const auto direction = header(request, "Saga-Direction");
    const auto execution = quoted(saga + "/" + step + "/" + header(request, "Saga-Round"));
    sql("BEGIN IMMEDIATE");
    unsigned status = 200;
    bool accepted = false;
    const auto known = sql("SELECT status FROM call WHERE key = " + key);
    if (!known.empty() && !options_.forgets_keys) {
      status = static_cast<unsigned>(std::stoul(known[0]));
    } else {
      const auto state = sql("SELECT state FROM execution WHERE name = " + execution);
      const auto is = [&](const char* what) { return !state.empty() && state[0] == what; };
      const bool undo = direction == "compensation";
      const bool refused =
          !undo &&
          (request.body().find("\"fails_at\":" + ("\"" + step + "\"")) != std::string::npos ||
           (step == "pay" && request.body().find(ticket(request)) == std::string::npos));
      if (refused) status = 422;
      // It is undone already: this call comes too late.
      if (!undo && is("undone")) status = 410;
      if (status == 200 && (!undo || is("done"))) {
        sql("INSERT INTO effect VALUES (" + quoted(saga) + ", " + quoted(step) + ", " +
            quoted(direction) + ")");
      }
      if (status == 200) {
        sql("INSERT OR REPLACE INTO execution VALUES (" + execution + ", " +
            (undo ? "'undone'" : "'done'") + ")");
        accepted = accepts;
      }
    }
    if (accepted) {
      sql("INSERT INTO reply VALUES (" + quoted(header(request, "Saga-Reply-Token")) + ", " +
          quoted(output(request)) + ", 0)");
    }
    sql("INSERT INTO call VALUES (" + key + ", " + quoted(saga) + ", " + quoted(step) + ", " +
        quoted(direction) + ", " + std::to_string(status) +
        ", 1) ON CONFLICT DO UPDATE SET asked = asked + 1");
    sql("COMMIT");
    return accepted ? 202 : status;
  }

  const ParticipantOptions options_;
  std::mutex mutex_;  // of all below
  std::unique_ptr<Random> random_;
  testing::SqliteConnection book_;
  boost::asio::io_context context_;
};

}  // namespace sagabox::crash
