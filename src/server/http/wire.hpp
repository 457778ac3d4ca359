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

/// The bytes of one connection, plain or inside TLS, and a limit of time. Everything but `run` and
/// `run_now` is called, and calls back, on one strand.
class Wire {
 public:
  enum class End : std::uint8_t { done, given_up, failed };
  using Done = std::function<void(End end, std::size_t bytes)>;
  using Act = std::function<void()>;

  virtual ~Wire() = default;
  /// On the strand, soon. From any thread.
  virtual void run(Act act) = 0;
  /// The same, but at once for those who are on it.
  virtual void run_now(Act act) = 0;
  /// Calls `late` after so long, unless another limit is set before.
  virtual void limit(Duration after, Act late) = 0;

  /// Before anything else.
  virtual void open(Done done) = 0;
  virtual void read_some(std::span<char> into, Done done) = 0;
  /// All of it; both stay where they are until then.
  virtual void write(std::string_view head, std::string_view body, Done done) = 0;
  /// Tells the other side that nothing more comes.
  virtual void end(Done done) = 0;
  /// After that: what the other side still sends, as it is on the socket.
  virtual void drain_some(std::span<char> into, Done done) = 0;

  /// What is under way ends as `given_up`.
  virtual void give_up() = 0;
  /// For good, and there is no limit any more.
  virtual void close() = 0;
};

/// One that was accepted; a wire closes it.
struct AcceptedSocket {
  int descriptor = -1;
  bool version_six = false;
};
std::unique_ptr<Wire> plain_wire(boost::asio::io_context& context, AcceptedSocket socket);
/// OpenSSL keeps a TLS context for as long as a connection uses it.
std::unique_ptr<Wire> tls_wire(boost::asio::io_context& context, AcceptedSocket socket,
                               boost::asio::ssl::context& tls);

}  // namespace sagabox::server
