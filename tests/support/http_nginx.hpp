#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A real nginx on loopback in a folder of its own that answers every request with 204; ends with
/// this process.
class HttpNginx {
 public:
  /// Empty if it can be started. Otherwise what is missing, for skipping the test.
  static std::string problem();

  enum class Speaks : std::uint8_t { plain, tls, tls_and_http2 };
  explicit HttpNginx(Speaks what, int processes = 1);
  ~HttpNginx();
  HttpNginx(const HttpNginx&) = delete;
  HttpNginx& operator=(const HttpNginx&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// The PEM file of its certificate authority; the certificate is for localhost and 127.0.0.1.
  [[nodiscard]] std::filesystem::path ca_file() const { return folder_ / "certificate.pem"; }

  /// One line for each request: protocol, number of its connection, method, path.
  struct Logged {
    std::string protocol;
    std::string connection;
    std::string method;
    std::string path;
  };
  /// Stops its process, but keeps the connections, until `go_on`. One process only.
  void stall();
  void go_on();
  /// Lets it finish its requests and stop.
  std::vector<Logged> stop();

 private:
  void make_certificate() const;
  void write_configuration(Speaks what, int processes) const;
  void start();
  void wait_until_it_listens() const;

  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  pid_t id_ = -1;
};

}  // namespace sagabox::testing
