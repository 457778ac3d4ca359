#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

namespace sagabox::server {

/// The bytes of one connection, plain or inside TLS. Everything happens on the socket's strand.
/// What is under way when the socket is cancelled or closed ends with an error.
class Wire {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using ErrorCode = boost::system::error_code;
  using Done = std::function<void(const ErrorCode& error, std::size_t bytes)>;
  using Pieces = std::array<boost::asio::const_buffer, 2>;

  virtual ~Wire() = default;
  /// Before anything else.
  virtual void open(Done done) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, Done done) = 0;
  /// All of it.
  virtual void write(const Pieces& pieces, Done done) = 0;
  /// Tells the other side that nothing more comes. It may still be sending: what it sends is then
  /// for the socket to take.
  virtual void end(Done done) = 0;
  virtual Socket& socket() = 0;
};

std::unique_ptr<Wire> plain_wire(Wire::Socket socket);

}  // namespace sagabox::server
