#include "server/wire.hpp"

#include <boost/asio/write.hpp>

#include <utility>

namespace sagabox::server {
namespace {

class PlainWire final : public Wire {
 public:
  explicit PlainWire(Socket socket) : socket_(std::move(socket)) {}

  void open(Done done) override { done({}, 0); }
  void read_some(boost::asio::mutable_buffer into, Done done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(const Pieces& pieces, Done done) override {
    boost::asio::async_write(socket_, pieces, std::move(done));
  }
  void end(Done done) override {
    ErrorCode error;
    socket_.shutdown(Socket::shutdown_send, error);
    done(error, 0);
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

}  // namespace

std::unique_ptr<Wire> plain_wire(Wire::Socket socket) {
  return std::make_unique<PlainWire>(std::move(socket));
}

}  // namespace sagabox::server
