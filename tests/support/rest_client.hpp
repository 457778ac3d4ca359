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
  std::string head;  ///< as it came
  std::string body;
  /// Empty when it is not there.
  [[nodiscard]] std::string header(std::string_view name) const;
};

/// One connection to a server on loopback, that sends whatever a test wants, well-formed or not.
/// Blocks; nothing takes longer than `patience` seconds. Throws std::runtime_error when it cannot
/// connect.
class RestClient {
 public:
  static constexpr int patience = 60;

  explicit RestClient(std::uint16_t port);
  /// TLS; trusts this certificate only.
  RestClient(std::uint16_t port, const std::filesystem::path& certificate);
  ~RestClient();
  RestClient(RestClient&&) noexcept;
  RestClient& operator=(RestClient&&) noexcept;

  /// False when the other side has hung up.
  bool send(std::string_view bytes);
  /// Nothing when the connection ended before.
  std::optional<RestAnswer> receive();
  /// The other side hangs up without another byte.
  bool ends();

  /// Well-formed; throws std::runtime_error when no answer comes.
  RestAnswer get(const std::string& target, const std::string& headers = {});
  RestAnswer post(const std::string& target, const std::string& json,
                  const std::string& headers = {});
  /// The text of such a request. `headers` are whole lines.
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
