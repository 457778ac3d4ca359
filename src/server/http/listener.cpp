#include "server/http/listener.hpp"

#include "server/http/session.hpp"
#include "server/http/tls.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <thread>
#include <utility>
#include <vector>

namespace sagabox::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr auto accept_pause = std::chrono::milliseconds(100);
/// How long to wait until the connections that were cut are gone.
constexpr auto cut_wait = std::chrono::milliseconds(500);
/// A connection idle for longer is closed to make room for another if there are too many.
constexpr auto idle_min = std::chrono::seconds(1);

}  // namespace

class Listener::Core {
 public:
  Core(ListenerOptions options, RequestHandler& handler)
      : options_(std::move(options)),
        watch_(*options_.metrics, *options_.log, options_.request_log),
        bodies_(options_.bodies_bytes_max),
        sessions_(watch_),
        context_(static_cast<int>(options_.io_threads)),
        work_(context_.get_executor()),
        acceptor_(asio::make_strand(context_)),
        retry_(acceptor_.get_executor()),
        workers_(handler, {.threads = options_.workers, .waiting_max = options_.worker_queue_max}),
        shared_{.options = options_,
                .handler = handler,
                .workers = workers_,
                .bodies = bodies_,
                .watch = watch_,
                .sessions = sessions_} {}
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Status open();
  void run();
  bool stop();
  [[nodiscard]] bool has_ended() const { return sessions_.count() == 0 && workers_.idle(); }
  Status reload_certificate() { return tls_ ? tls_->reload() : Status(); }
  [[nodiscard]] std::size_t connections() const { return sessions_.count(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void accept();
  void accepted(tcp::socket socket);
  /// Closes the connection that has been idle for longest; returns false if all are in use.
  bool make_room();

  const ListenerOptions options_;
  RequestWatch watch_;
  BodyBudget bodies_;
  SessionList sessions_;
  asio::io_context context_;
  // Needed because requests that a handler processes have no pending operation in the context.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unique_ptr<Tls> tls_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::uint16_t port_ = 0;
  Workers workers_;
  SessionContext shared_;
  std::vector<std::thread> threads_;
};

Listener::Core::~Core() {
  (void)stop();
  sessions_.wait_until_empty();
  work_.reset();
  for (auto& thread : threads_) thread.join();
}

Status Listener::Core::open() {
  if (options_.tls) {
    auto opened = Tls::open(*options_.tls);
    if (!opened.ok()) return opened.error();
    tls_ = std::move(*opened);
  }
  ErrorCode error;
  const tcp::endpoint endpoint(asio::ip::make_address(numeric_address(options_.address), error),
                               options_.port);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    // The configuration may be right: the other process may end, or the address may be added.
    return Error{Code::tx_invalid_state, "cannot listen on " + options_.address + " port " +
                                             std::to_string(options_.port) + ": " +
                                             error.message() + "; give another address or port"};
  }
  port_ = acceptor_.local_endpoint().port();
  return {};
}

void Listener::Core::run() {
  accept();
  for (std::uint32_t at = 0; at < options_.io_threads; ++at) {
    threads_.emplace_back([this] { context_.run(); });
  }
}

void Listener::Core::accept() {
  acceptor_.async_accept([this](ErrorCode error, tcp::socket socket) {
    if (shared_.stopping || error == asio::error::operation_aborted) return;
    if (!error) {
      accepted(std::move(socket));
      return accept();
    }
    // Most likely out of descriptors, which become free as connections end.
    options_.log->log(LogLevel::warning, "accept failed", {{"error", error.message()}});
    retry_.expires_after(accept_pause);
    retry_.async_wait([this](ErrorCode cancelled) {
      if (!cancelled) accept();
    });
  });
}

bool Listener::Core::make_room() {
  const auto idle = sessions_.longest_idle(options_.clock->boot_now() - idle_min);
  if (idle) idle->finish();
  return idle != nullptr;
}

void Listener::Core::accepted(tcp::socket socket) {
  if (sessions_.count() >= options_.connections_max && !make_room()) {
    options_.log->log(LogLevel::warning, "connection refused, there are too many",
                      {{"connections_max", std::uint64_t{options_.connections_max}}});
    return;
  }
  ErrorCode error;
  AcceptedSocket taken{.version_six = acceptor_.local_endpoint(error).address().is_v6()};
  taken.descriptor = socket.release(error);
  if (error) return;
  auto session = std::make_shared<Session>(
      shared_, tls_ ? tls_->wire(context_, taken) : plain_wire(context_, taken));
  sessions_.add(session);
  session->start();
}

bool Listener::Core::stop() {
  if (shared_.stopping.exchange(true)) return true;
  asio::post(acceptor_.get_executor(), [this] {
    ErrorCode ignored;
    acceptor_.close(ignored);
    retry_.cancel();
  });
  for (const auto& session : sessions_.all()) session->finish();
  const bool in_time = sessions_.wait_until_empty(options_.stop_timeout);
  for (const auto& session : sessions_.all()) session->cut();
  workers_.stop();
  // A later reply finds its connection closed.
  (void)sessions_.wait_until_empty(cut_wait);
  return in_time;
}

Listener::Listener(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::start(ListenerOptions options,
                                                  RequestHandler& handler) {
  if (auto checked = options.check(); !checked.ok()) return checked.error();
  auto core = std::make_unique<Core>(std::move(options), handler);
  if (auto opened = core->open(); !opened.ok()) return opened.error();
  core->run();
  return std::unique_ptr<Listener>(new Listener(std::move(core)));
}

std::uint16_t Listener::port() const noexcept { return core_->port(); }
std::size_t Listener::connections() const { return core_->connections(); }
Status Listener::reload_certificate() { return core_->reload_certificate(); }
bool Listener::stop() { return core_->stop(); }
bool Listener::has_ended() const { return core_->has_ended(); }

}  // namespace sagabox::server
