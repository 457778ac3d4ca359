#pragma once

#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace boost::asio {
class io_context;
namespace ssl {
class context;
}
}  // namespace boost::asio

namespace sagabox::server {

/// The bytes of one connection, plain or with TLS, and a time limit. Everything except `run` and
/// `run_now` is called, and calls back, on one strand.
class Wire {
 public:
  enum class End : std::uint8_t { done, given_up, failed };
  using Done = std::function<void(End end, std::size_t bytes)>;
  using Act = std::function<void()>;

  virtual ~Wire() = default;
  /// Runs `act` on the strand, soon. Thread-safe.
  virtual void run(Act act) = 0;
  /// The same, but at once if the caller is on the strand.
  virtual void run_now(Act act) = 0;
  /// Calls `late` after this time, unless another limit is set before.
  virtual void limit(Duration after, Act late) = 0;

  /// Call it first.
  virtual void open(Done done) = 0;
  virtual void read_some(std::span<char> into, Done done) = 0;
  /// Writes everything; both texts must live until `done` is called.
  virtual void write(std::string_view head, std::string_view body, Done done) = 0;
  /// Tells the other side that no more data follows.
  virtual void end(Done done) = 0;
  /// After `end`: reads the raw data that the other side still sends.
  virtual void drain_some(std::span<char> into, Done done) = 0;

  /// Operations in progress end as `given_up`.
  virtual void give_up() = 0;
  /// Final; there is no time limit any more.
  virtual void close() = 0;
};

/// An accepted socket, which a wire closes.
struct AcceptedSocket {
  int descriptor = -1;
  bool version_six = false;
};
std::unique_ptr<Wire> plain_wire(boost::asio::io_context& context, AcceptedSocket socket);
/// OpenSSL keeps a TLS context for as long as a connection uses it.
std::unique_ptr<Wire> tls_wire(boost::asio::io_context& context, AcceptedSocket socket,
                               boost::asio::ssl::context& tls);

}  // namespace sagabox::server
