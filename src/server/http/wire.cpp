#include "server/http/wire.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <utility>

namespace sagabox::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

tcp::socket made_socket(asio::io_context& context, const AcceptedSocket& accepted) {
  tcp::socket socket(asio::make_strand(context));
  ErrorCode ignored;  // an invalid socket fails at its first read
  socket.assign(accepted.version_six ? tcp::v6() : tcp::v4(), accepted.descriptor, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  return socket;
}

Wire::End end_of(const ErrorCode& error) {
  if (!error) return Wire::End::done;
  return error == asio::error::operation_aborted ? Wire::End::given_up : Wire::End::failed;
}

auto told(Wire::Done done) {
  return [done = std::move(done)](const ErrorCode& error, std::size_t bytes) {
    done(end_of(error), bytes);
  };
}

/// Shared by both kinds: `Stream` is the socket, or TLS over it.
template <class Stream>
class SocketWire : public Wire {
 public:
  template <class... Arguments>
  explicit SocketWire(tcp::socket socket, Arguments&... arguments)
      : stream_(std::move(socket), arguments...), timer_(stream_.get_executor()) {}

  void run(Act act) override { asio::post(timer_.get_executor(), std::move(act)); }
  void run_now(Act act) override { asio::dispatch(timer_.get_executor(), std::move(act)); }
  void limit(Duration after, Act late) override {
    timer_.expires_after(std::chrono::ceil<asio::steady_timer::duration>(after));
    timer_.async_wait([this, late = std::move(late), number = ++limits_](const ErrorCode& error) {
      // A timer that fired before another limit was set is ignored.
      if (!error && number == limits_) late();
    });
  }
  void read_some(std::span<char> into, Done done) override {
    stream_.async_read_some(asio::buffer(into.data(), into.size()), told(std::move(done)));
  }
  void write(std::string_view head, std::string_view body, Done done) override {
    const std::array pieces{asio::const_buffer(head.data(), head.size()),
                            asio::const_buffer(body.data(), body.size())};
    asio::async_write(stream_, pieces, told(std::move(done)));
  }
  void drain_some(std::span<char> into, Done done) override {
    socket().async_read_some(asio::buffer(into.data(), into.size()), told(std::move(done)));
  }
  void give_up() override {
    ErrorCode ignored;
    socket().cancel(ignored);
  }
  void close() override {
    timer_.cancel();
    ++limits_;
    ErrorCode ignored;
    socket().close(ignored);
  }

 protected:
  virtual tcp::socket& socket() = 0;
  void end_socket(const Done& done) {
    ErrorCode error;
    socket().shutdown(tcp::socket::shutdown_send, error);
    done(end_of(error), 0);
  }
  Stream stream_;

 private:
  asio::steady_timer timer_;
  std::uint64_t limits_ = 0;
};

class PlainWire final : public SocketWire<tcp::socket> {
 public:
  using SocketWire::SocketWire;
  void open(Done done) override { done(End::done, 0); }
  void end(Done done) override { end_socket(done); }

 protected:
  tcp::socket& socket() override { return stream_; }
};

class TlsWire final : public SocketWire<asio::ssl::stream<tcp::socket>> {
 public:
  using SocketWire::SocketWire;
  void open(Done done) override {
    stream_.async_handshake(
        asio::ssl::stream_base::server,
        [done = std::move(done)](const ErrorCode& error) { done(end_of(error), 0); });
  }
  void end(Done done) override {
    // An error if the other side is still sending, but close_notify was sent by then.
    stream_.async_shutdown([this, done = std::move(done)](const ErrorCode&) { end_socket(done); });
  }

 protected:
  tcp::socket& socket() override { return stream_.next_layer(); }
};

}  // namespace

std::unique_ptr<Wire> plain_wire(asio::io_context& context, AcceptedSocket socket) {
  return std::make_unique<PlainWire>(made_socket(context, socket));
}

std::unique_ptr<Wire> tls_wire(asio::io_context& context, AcceptedSocket socket,
                               asio::ssl::context& tls) {
  return std::make_unique<TlsWire>(made_socket(context, socket), tls);
}

}  // namespace sagabox::server
