#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::testing {

struct RestAnswer {
  unsigned status = 0;
  std::string head;  ///< unchanged
  std::string body;
  /// Empty if it is missing.
  [[nodiscard]] std::string header(std::string_view name) const;
};

/// One connection to a server on loopback that sends any bytes, well-formed or not. Blocks, at most
/// `patience` seconds. Throws std::runtime_error if it cannot connect.
class RestClient {
 public:
  static constexpr int patience = 60;

  explicit RestClient(std::uint16_t port);
  /// TLS; trusts this certificate only.
  RestClient(std::uint16_t port, const std::filesystem::path& certificate);
  ~RestClient();
  RestClient(RestClient&&) noexcept;
  RestClient& operator=(RestClient&&) noexcept;

  /// Returns false if the other side has closed the connection.
  bool send(std::string_view bytes);
  /// Nullopt if the connection ended before the answer.
  std::optional<RestAnswer> receive();
  /// Returns whether the other side closes the connection without another byte.
  bool ends();

  /// Sends a well-formed request; throws std::runtime_error if there is no answer.
  RestAnswer get(const std::string& target, const std::string& headers = {});
  RestAnswer post(const std::string& target, const std::string& json,
                  const std::string& headers = {});
  /// The text of such a request. `headers` are complete lines.
  static std::string request(const std::string& method, const std::string& target,
                             const std::string& body, const std::string& headers = {});

 private:
  struct Link;
  long read_some();
  RestAnswer exchange(const std::string& request);

  std::unique_ptr<Link> link_;
  std::string read_;
};

}  // namespace sagabox::testing
