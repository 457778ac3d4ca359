#include "support/http_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

namespace sagabox::testing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Socket = asio::ip::tcp::socket;

constexpr std::uint64_t body_bytes_max = 8UL * 1024 * 1024;
constexpr std::uint32_t header_bytes_max = 256 * 1024;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return lower;
}

std::string text_of(boost::beast::string_view view) { return {view.data(), view.size()}; }

}  // namespace

std::string HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? "" : found->second;
}

class HttpServer::Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(Handler handler) : handler_(std::move(handler)), acceptor_(context_) {}

  void run() {
    listen(0);
    thread_ = std::thread([this] { context_.run(); });
  }

  void end() {
    go_on();
    call([this] { cut(); });
    work_.reset();
    thread_.join();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Runs `what` on the server's thread, and waits for it.
  void call(const std::function<void()>& what) {
    std::promise<void> done;
    asio::post(context_, [&] {
      what();
      done.set_value();
    });
    done.get_future().get();
  }

  void listen(std::uint16_t port) {
    const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
    accept();
  }

  void cut() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (auto* const session : sessions_) session->socket.close(ignored);
    held_.clear();
  }

  void answer_held() {
    for (const auto& session : std::exchange(held_, {})) reply(session, {});
  }

  void stall() {
    std::promise<void> stalled;
    asio::post(context_, [&, self = shared_from_this()] {
      std::unique_lock lock(self->mutex_);
      self->is_stalled_ = true;
      stalled.set_value();
      self->changed_.wait(lock, [&] { return !self->is_stalled_; });
    });
    stalled.get_future().get();
  }

  void go_on() {
    const std::scoped_lock lock(mutex_);
    is_stalled_ = false;
    changed_.notify_all();
  }

  std::vector<HttpRequest> requests(std::string_view path, std::size_t count, Duration patience) {
    std::unique_lock lock(mutex_);
    std::vector<HttpRequest> found;
    changed_.wait_for(lock, patience, [&] {
      found.clear();
      std::ranges::copy_if(requests_, std::back_inserter(found),
                           [&](const HttpRequest& request) { return request.path == path; });
      return found.size() >= count;
    });
    return found;
  }

  [[nodiscard]] std::size_t connections_made() const {
    const std::scoped_lock lock(mutex_);
    return connections_made_;
  }
  [[nodiscard]] std::size_t most_at_once() const {
    const std::scoped_lock lock(mutex_);
    return most_at_once_;
  }

 private:
  struct Session {
    Session(Core& owner, Socket connected) : core(owner), socket(std::move(connected)) {
      core.sessions_.insert(this);
    }
    ~Session() { core.sessions_.erase(this); }
    Core& core;
    Socket socket;
    boost::beast::flat_buffer buffer{header_bytes_max + 64UL * 1024};
    std::optional<http::request_parser<http::string_body>> parser;
    std::optional<http::response<http::string_body>> response;
  };
  using SessionPointer = std::shared_ptr<Session>;

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, Socket socket) {
      if (error) return;
      {
        const std::scoped_lock lock(mutex_);
        ++connections_made_;
      }
      socket.set_option(asio::ip::tcp::no_delay(true), error);
      read(std::make_shared<Session>(*this, std::move(socket)));
      accept();
    });
  }

  void read(const SessionPointer& session) {
    auto& parser = session->parser.emplace();
    parser.body_limit(body_bytes_max);
    parser.header_limit(header_bytes_max);
    http::async_read(session->socket, session->buffer, parser,
                     [this, session](boost::system::error_code error, std::size_t) {
                       if (!error) answer(session);
                     });
  }

  void answer(const SessionPointer& session) {
    auto got = session->parser->release();
    HttpRequest request{.method = text_of(got.method_string()),
                        .path = text_of(got.target()),
                        .body = std::move(got.body())};
    for (const auto& field : got) {
      request.headers.emplace_back(lower_case(text_of(field.name_string())),
                                   text_of(field.value()));
    }
    const auto say = handler_(request);
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(std::move(request));
      changed_.notify_all();
    }
    if (say.never) {
      held_.push_back(session);
      const std::scoped_lock lock(mutex_);
      most_at_once_ = std::max(most_at_once_, held_.size());
    } else if (!say.hang_up) {
      reply(session, say);
    }
  }

  void reply(const SessionPointer& session, const HttpReply& say) {
    auto& response = session->response.emplace();
    response.version(11);
    response.result(say.status);
    for (const auto& [name, value] : say.headers) response.set(name, value);
    response.body() = say.body;
    if (say.status != 204 || !say.body.empty()) response.prepare_payload();
    if (say.half_body) response.body().resize(say.body.size() / 2);
    http::async_write(
        session->socket, response,
        [this, session, more = !say.half_body](boost::system::error_code error, std::size_t) {
          if (!error && more) read(session);
        });
  }

  const Handler handler_;
  asio::io_context context_{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
      asio::make_work_guard(context_)};
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  std::set<Session*> sessions_;
  std::vector<SessionPointer> held_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stalled_ = false;
  std::vector<HttpRequest> requests_;
  std::size_t connections_made_ = 0;
  std::size_t most_at_once_ = 0;
};

HttpServer::HttpServer(Handler handler) : core_(std::make_shared<Core>(std::move(handler))) {
  core_->run();
}

HttpServer::~HttpServer() { core_->end(); }

std::uint16_t HttpServer::port() const { return core_->port(); }

std::string HttpServer::url(std::string_view path) const {
  return "http://127.0.0.1:" + std::to_string(port()) + std::string(path);
}

std::vector<HttpRequest> HttpServer::requests(std::string_view path, std::size_t count,
                                              Duration patience) {
  return core_->requests(path, count, patience);
}

std::size_t HttpServer::connections_made() const { return core_->connections_made(); }
std::size_t HttpServer::most_at_once() const { return core_->most_at_once(); }

void HttpServer::stop() {
  core_->call([this] { core_->cut(); });
}

void HttpServer::start() {
  core_->call([this] { core_->listen(core_->port()); });
}

void HttpServer::stall() { core_->stall(); }
void HttpServer::go_on() { core_->go_on(); }
void HttpServer::answer_held() {
  core_->call([this] { core_->answer_held(); });
}

}  // namespace sagabox::testing
