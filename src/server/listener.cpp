#include "server/listener.hpp"

#include "core/text.hpp"
#include "server/problem.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace sagabox::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

/// How long and how much of what a client still sends is taken after a last answer, so that it is
/// not lost with the connection.
constexpr auto linger_time = std::chrono::seconds(2);
constexpr auto linger_time_at_stop = std::chrono::milliseconds(100);
constexpr std::size_t linger_bytes_max = 4UL * 1024 * 1024;
constexpr auto accept_pause = std::chrono::milliseconds(100);

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

Error refused(std::string message) { return {Code::schema_validation_failed, std::move(message)}; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

Request taken_apart(http::request<http::string_body>&& message) {
  Request request;
  request.method = view(message.method_string());
  request.target = view(message.target());
  for (const auto& field : message) {
    request.headers.emplace_back(lower_case(view(field.name_string())), view(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

http::response<http::string_body> put_together(Response&& response, unsigned version,
                                               bool head_only) {
  http::response<http::string_body> message;
  message.version(version);
  message.result(response.status);
  message.set(http::field::content_type, response.content_type);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.content_length(response.body.size());
  if (!head_only) message.body() = std::move(response.body);
  return message;
}

std::string too_long(std::string_view what, std::size_t bytes_max) {
  return std::string(what) + " is longer than " + std::to_string(bytes_max) + " bytes";
}

}  // namespace

/// A connection as the listener knows it.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Ends after the request that is under way, if there is one.
  virtual void finish() = 0;
  virtual void cut() = 0;
};

class Listener::Core {
 public:
  Core(ListenerOptions options, RequestHandler& handler)
      : options_(std::move(options)),
        handler_(handler),
        context_(static_cast<int>(options_.io_threads)),
        work_(context_.get_executor()),
        acceptor_(asio::make_strand(context_)),
        retry_(acceptor_.get_executor()),
        workers_(options_.workers) {}

  Status open();
  void run();
  bool stop();
  void accept();

  void add(const std::shared_ptr<Connection>& connection) {
    const std::scoped_lock lock(mutex_);
    connections_.emplace(connection.get(), connection);
  }
  void remove(Connection* connection) {
    const std::scoped_lock lock(mutex_);
    connections_.erase(connection);
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t connections() const {
    const std::scoped_lock lock(mutex_);
    return connections_.size();
  }

  /// Replies itself when too many wait.
  void hand_over(Request request, Reply reply);

  [[nodiscard]] const ListenerOptions& options() const { return options_; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void accepted(tcp::socket socket);
  std::vector<std::shared_ptr<Connection>> all();
  bool wait_for_end();

  ListenerOptions options_;
  RequestHandler& handler_;
  asio::io_context context_;
  // Requests that are with a handler keep no operation of the context under way.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::optional<asio::ssl::context> tls_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::uint16_t port_ = 0;
  asio::thread_pool workers_;
  std::atomic<std::uint32_t> at_workers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Connection*, std::weak_ptr<Connection>> connections_;
};

namespace {

/// One connection: reads a request, hands it over, writes the answer, and again. Everything runs
/// on its strand.
template <class Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <class... Arguments>
  Session(Listener::Core& core, tcp::socket&& socket, Arguments&... arguments)
      : core_(core), registered_{core, this}, stream_(std::move(socket), arguments...) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() {
    asio::post(strand(), [self = self()] {
      if constexpr (std::is_same_v<Stream, TlsStream>) {
        self->expires(self->options().header_timeout);
        self->stream_.async_handshake(asio::ssl::stream_base::server, [self](ErrorCode error) {
          if (!error) self->wait();
        });
      } else {
        self->wait();
      }
    });
  }

  void finish() override {
    asio::post(strand(), [self = self()] {
      self->finishing_ = true;
      // Not closed: what has been read just now is a request, which will be answered.
      if (self->idle_) self->socket().cancel();
    });
  }
  void cut() override {
    asio::post(strand(), [self = self()] { self->close(); });
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  std::shared_ptr<Session> self() { return this->shared_from_this(); }
  auto strand() { return stream_.get_executor(); }
  beast::tcp_stream& socket() { return beast::get_lowest_layer(stream_); }
  [[nodiscard]] const ListenerOptions& options() const { return core_.options(); }
  void expires(Duration after) { socket().expires_after(after); }

  void close() { socket().close(); }

  /// For the first byte of a request, for as long as a connection may be idle.
  void wait() {
    if (finishing_ || core_.stopping()) return close();
    if (buffer_.size() > 0) return read_header();
    idle_ = true;
    expires(options().idle_timeout);
    stream_.async_read_some(buffer_.prepare(read_bytes),
                            [self = self()](ErrorCode error, std::size_t bytes) {
                              self->idle_ = false;
                              if (error) return;
                              self->buffer_.commit(bytes);
                              self->read_header();
                            });
  }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(options().header_bytes_max);
    parser_->body_limit(options().body_bytes_max);
    expires(options().header_timeout);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = self()](ErrorCode error, std::size_t) {
                              if (error) return self->malformed(error);
                              self->have_header();
                            });
  }

  void have_header() {
    const auto& header = parser_->get();
    const bool old = header.version() < 11;
    if (!old && header.count(http::field::host) != 1) {
      return refuse(400, "a request needs one Host header");
    }
    // A proxy before us might see another end of the body.
    if (header.count(http::field::transfer_encoding) > 0 && !parser_->chunked()) {
      return refuse(400, "a Transfer-Encoding must end with chunked");
    }
    expires(options().body_timeout);
    if (!beast::iequals(header[http::field::expect], "100-continue")) return read_body();
    // The answer to "may I send it?". Those that are too long have been refused by now.
    auto go_on = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    http::async_write(stream_, *go_on, [self = self(), go_on](ErrorCode error, std::size_t) {
      if (!error) self->read_body();
    });
  }

  void read_body() {
    http::async_read(stream_, buffer_, *parser_, [self = self()](ErrorCode error, std::size_t) {
      if (error) return self->malformed(error);
      self->have_request();
    });
  }

  void have_request() {
    socket().expires_never();
    keep_alive_ = parser_->keep_alive();
    version_ = parser_->get().version();
    auto request = taken_apart(parser_->release());
    head_only_ = request.method == "HEAD";
    core_.hand_over(std::move(request), [self = self()](Response response) {
      asio::dispatch(self->strand(), [self, response = std::move(response)]() mutable {
        self->write(std::move(response));
      });
    });
  }

  /// What no HTTP parser could read is answered, too, before the connection ends.
  void malformed(ErrorCode error) {
    const bool is_http =
        error.category() == http::make_error_code(http::error::bad_value).category();
    if (!is_http || error == http::error::end_of_stream || error == http::error::partial_message) {
      return close();
    }
    if (error == http::error::header_limit) {
      return refuse(431, too_long("the header", options().header_bytes_max));
    }
    if (error == http::error::body_limit) {
      return refuse(413, too_long("the body", options().body_bytes_max));
    }
    refuse(400, "this is not HTTP/1.1: " + error.message());
  }

  void refuse(unsigned status, std::string message) {
    keep_alive_ = false;
    head_only_ = false;
    write(problem(status, refused(std::move(message))));
  }

  void write(Response response) {
    keep_alive_ = keep_alive_ && !finishing_ && !core_.stopping();
    answer_ = put_together(std::move(response), version_, head_only_);
    answer_.keep_alive(keep_alive_);
    expires(options().write_timeout);
    http::async_write(stream_, answer_, [self = self()](ErrorCode error, std::size_t) {
      if (error) return;
      if (self->keep_alive_) return self->wait();
      self->end();
    });
  }

  void end() {
    expires(core_.stopping() ? Duration(linger_time_at_stop) : Duration(linger_time));
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      stream_.async_shutdown([self = self()](ErrorCode) { self->close(); });
    } else {
      ErrorCode ignored;
      stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
      buffer_.clear();
      drain(0);
    }
  }

  void drain(std::size_t so_far) {
    if (so_far > linger_bytes_max) return close();
    stream_.async_read_some(asio::buffer(rest_),
                            [self = self(), so_far](ErrorCode error, std::size_t bytes) {
                              if (!error) self->drain(so_far + bytes);
                            });
  }

  static constexpr std::size_t read_bytes = 8UL * 1024;

  /// The listener may end when its last connection is gone: with all that it is made of.
  struct Registered {
    Listener::Core& core;
    Connection* connection;
    ~Registered() { core.remove(connection); }
  };

  Listener::Core& core_;
  Registered registered_;  // destroyed after what follows
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  http::response<http::string_body> answer_;
  std::array<char, 4096> rest_{};
  unsigned version_ = 11;
  bool head_only_ = false;
  bool keep_alive_ = true;
  bool idle_ = false;
  bool finishing_ = false;
};

Result<asio::ip::address> parse_address(const std::string& text) {
  ErrorCode error;
  const auto address = asio::ip::make_address(text == "localhost" ? "127.0.0.1" : text, error);
  if (!error) return address;
  return Error{Code::config_invalid, "address " + quoted(text) +
                                         " is no address; give one like 127.0.0.1, ::1 or 0.0.0.0"};
}

Result<asio::ssl::context> tls_context(const TlsFiles& files) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                      asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
  const auto failed = [](const std::string& file, const ErrorCode& error) {
    return Error{Code::config_invalid, "TLS file " + quoted(file) + ": " + error.message() +
                                           "; give a certificate and its key as PEM files"};
  };
  ErrorCode error;
  context.use_certificate_chain_file(files.certificate, error);
  if (error) return failed(files.certificate, error);
  context.use_private_key_file(files.key, asio::ssl::context::pem, error);
  if (error) return failed(files.key, error);
  return context;
}

}  // namespace

Status ListenerOptions::check() const {
  const auto invalid = [](std::string text) {
    return Error{Code::config_invalid, std::move(text)};
  };
  if (auto parsed = parse_address(address); !parsed.ok()) return parsed.error();
  const std::array counts{std::pair("io_threads", io_threads), std::pair("workers", workers),
                          std::pair("connections_max", connections_max),
                          std::pair("header_bytes_max", header_bytes_max)};
  for (const auto& [name, count] : counts) {
    if (count == 0) return invalid(std::string(name) + " is 0; give at least 1");
  }
  for (const auto& [name, time] :
       {std::pair("header_timeout", header_timeout), std::pair("body_timeout", body_timeout),
        std::pair("idle_timeout", idle_timeout), std::pair("write_timeout", write_timeout)}) {
    if (time <= Duration::zero()) return invalid(std::string(name) + " must be above 0");
  }
  return {};
}

Result<bool> is_loopback(const std::string& address) {
  const auto parsed = parse_address(address);
  if (!parsed.ok()) return parsed.error();
  return parsed->is_loopback();
}

Status Listener::Core::open() {
  if (options_.tls) {
    auto context = tls_context(*options_.tls);
    if (!context.ok()) return context.error();
    tls_ = std::move(*context);
  }
  const auto address = parse_address(options_.address);
  if (!address.ok()) return address.error();
  const tcp::endpoint endpoint(*address, options_.port);
  ErrorCode error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{Code::config_invalid, "cannot listen on " + options_.address + " port " +
                                           std::to_string(options_.port) + ": " + error.message() +
                                           "; give another address or port"};
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
  acceptor_.async_accept(asio::make_strand(context_), [this](ErrorCode error, tcp::socket socket) {
    if (stopping_ || error == asio::error::operation_aborted) return;
    if (!error) {
      accepted(std::move(socket));
      return accept();
    }
    // Out of descriptors, most likely: they come back as connections end.
    options_.log->log(LogLevel::warning, "accept failed", {{"error", error.message()}});
    retry_.expires_after(accept_pause);
    retry_.async_wait([this](ErrorCode cancelled) {
      if (!cancelled) accept();
    });
  });
}

void Listener::Core::accepted(tcp::socket socket) {
  if (connections() >= options_.connections_max) {
    options_.log->log(LogLevel::warning, "connection refused, there are too many",
                      {{"connections_max", std::uint64_t{options_.connections_max}}});
    return;
  }
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (tls_) {
    auto session = std::make_shared<Session<TlsStream>>(*this, std::move(socket), *tls_);
    add(session);
    session->start();
  } else {
    auto session = std::make_shared<Session<PlainStream>>(*this, std::move(socket));
    add(session);
    session->start();
  }
}

void Listener::Core::hand_over(Request request, Reply reply) {
  if (handler_.is_brief(request)) return handler_.begin(request, reply);
  if (++at_workers_ > options_.workers + options_.worker_queue_max) {
    --at_workers_;
    return reply(problem(
        503, {Code::provider_unavailable, "too many requests wait; try again after a second"}));
  }
  asio::post(workers_, [this, request = std::move(request), reply = std::move(reply)] {
    handler_.begin(request, reply);
    --at_workers_;
  });
}

std::vector<std::shared_ptr<Connection>> Listener::Core::all() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Connection>> found;
  for (const auto& [key, connection] : connections_) {
    if (auto alive = connection.lock()) found.push_back(std::move(alive));
  }
  return found;
}

bool Listener::Core::wait_for_end() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, options_.stop_timeout, [&] { return connections_.empty(); });
}

bool Listener::Core::stop() {
  if (stopping_.exchange(true)) return true;
  asio::post(acceptor_.get_executor(), [this] {
    ErrorCode ignored;
    acceptor_.close(ignored);
    retry_.cancel();
  });
  for (const auto& connection : all()) connection->finish();
  const bool in_time = wait_for_end();
  for (const auto& connection : all()) connection->cut();
  workers_.join();
  // Replies that come now find their connections closed. Their handlers are bounded by the store.
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return connections_.empty(); });
  }
  work_.reset();
  for (auto& thread : threads_) thread.join();
  return in_time;
}

Listener::Listener(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Listener::~Listener() { (void)stop(); }

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
bool Listener::stop() { return core_->stop(); }

}  // namespace sagabox::server
