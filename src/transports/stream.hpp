#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>
#include <sagabox/transports/tls.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace sagabox::transports {

struct Endpoint {
  std::string host{};
  std::uint16_t port = 0;
  std::string socket_path{};  ///< a Unix socket instead of host and port
  Tls tls{};
};

/// The time limit for connecting to the next of `addresses` that are left: the remaining time is
/// divided among them, so that a silent one leaves some to the next.
BootTime connect_by(BootTime now, BootTime deadline, std::size_t addresses_left);

/// A byte stream over a connection, plain or TLS. Only functions that take a deadline block.
class Stream {
 public:
  /// Looking up names takes as long as the resolver needs.
  static Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint, BootTime deadline,
                                                 const Clock& clock);
  /// Resets the connection: unsent data in the kernel is discarded.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// Returns how many bytes were taken; 0: none for now.
  Result<std::size_t> write(std::string_view bytes);
  /// Returns how many bytes there were; 0: none for now. The end of the stream is an error.
  Result<std::size_t> read(std::span<char> into);

  /// Writes everything, for the first messages on a new connection.
  Status write_all(std::string_view bytes, BootTime deadline, const Clock& clock);
  /// Reads at least one byte.
  Result<std::size_t> read_some(std::span<char> into, BootTime deadline, const Clock& clock);
  /// Sends what was written even though the stream ends.
  void end_gently();

 private:
  explicit Stream(int fd) : fd_(fd) {}
  static Result<std::unique_ptr<Stream>> connect_unix(const std::string& path);
  static Result<std::unique_ptr<Stream>> connect_tcp(const Endpoint& endpoint, BootTime deadline,
                                                     const Clock& clock);
  Status start_tls(const Endpoint& endpoint, BootTime deadline, const Clock& clock);
  Status wait(short events, BootTime deadline, const Clock& clock) const;
  /// Translates OpenSSL's result; returns 0 for "not now".
  Result<std::size_t> tls_result(int result, std::size_t bytes);

  int fd_;
  ssl_ctx_st* context_ = nullptr;
  ssl_st* tls_ = nullptr;
  bool cut_ = true;
};

}  // namespace sagabox::transports
