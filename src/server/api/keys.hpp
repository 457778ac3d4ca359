#pragma once

#include <sagabox/log.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::server {

/// The rights of a caller; each role includes the ones before.
enum class Role : std::uint8_t {
  read,     ///< look at data
  operate,  ///< write messages, act on them, pause and resume
  admin,    ///< purge, the audit log
};

/// "read", "operate", "admin".
std::string_view role_name(Role role) noexcept;
std::optional<Role> role_from_name(std::string_view name) noexcept;

/// A stored API key: its hash, never the key.
struct ApiKey {
  std::string id;    ///< 8 characters; the part of the key that is not secret
  std::string name;  ///< its purpose, in words of its creator
  Role role = Role::read;
  std::optional<std::string> tenant{};  ///< the tenant that it is bound to
  bool payloads = false;                ///< may see payloads
  Digest hash{};                        ///< SHA-256 of the whole key, which is random enough
  WallTime created_at{};
  std::optional<WallTime> revoked_at{};
  friend bool operator==(const ApiKey&, const ApiKey&) = default;
};

struct NewKey {
  std::string name;
  Role role = Role::read;
  std::optional<std::string> tenant{};
  bool payloads = false;
};

/// A new key. `secret` is `sbx_<id>_<random>`, shown once and stored nowhere.
struct CreatedKey {
  ApiKey key;
  std::string secret;
};

/// Keys in a file, one JSON object a line, readable by its owner only. A missing file has no keys.
/// Changes replace the file as a whole; concurrent changes take turns.
class KeyFile {
 public:
  explicit KeyFile(std::string path) : path_(std::move(path)) {}

  /// CONFIG.INVALID names the line that is wrong, or says that others can read the file.
  [[nodiscard]] Result<std::vector<ApiKey>> list() const;
  Result<CreatedKey> create(NewKey key, Random& random, const Clock& clock);
  /// Returns the changed key. TX.INVALID_STATE if it was revoked before.
  Result<ApiKey> revoke(std::string_view id, const Clock& clock);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  [[nodiscard]] Status write(const std::vector<ApiKey>& keys) const;

  std::string path_;
};

/// The keys of a file for checking requests; follows changes of the file. Thread-safe.
class KeyRing {
 public:
  struct Options {
    /// The interval of checks for changes of the file.
    Duration look_interval = std::chrono::seconds(1);
    const Clock* clock = &system_clock();
    Logger* log = &no_log();
  };

  /// CONFIG.INVALID if the file cannot be read or has no valid key.
  static Result<std::unique_ptr<KeyRing>> open(KeyFile file, Options options);

  /// The key with this secret, unless it is revoked.
  [[nodiscard]] std::optional<ApiKey> find(std::string_view secret);

 private:
  KeyRing(KeyFile file, Options options, std::vector<ApiKey> keys);
  void follow();
  /// Changes whenever the file is replaced; empty if it does not exist.
  [[nodiscard]] std::string mark() const;

  KeyFile file_;
  Options options_;
  std::mutex mutex_;
  std::vector<ApiKey> keys_;
  std::string mark_;
  BootTime looked_at_{};
};

}  // namespace sagabox::server
