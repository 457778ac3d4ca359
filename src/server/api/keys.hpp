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

/// What somebody may do; each includes the ones before.
enum class Role : std::uint8_t {
  read,     ///< look
  operate,  ///< write messages, act on them, pause and resume
  admin,    ///< purge, the audit log
};

/// "read", "operate", "admin".
std::string_view role_name(Role role) noexcept;
std::optional<Role> role_from_name(std::string_view name) noexcept;

/// An API key as it is kept: its hash, never the key.
struct ApiKey {
  std::string id;    ///< 8 characters; the part of the key that may be seen
  std::string name;  ///< what it is for, in its maker's words
  Role role = Role::read;
  std::optional<std::string> tenant{};  ///< bound to it
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

/// A key that was made just now. `secret` is `sbx_<id>_<random>`, said once and kept nowhere.
struct CreatedKey {
  ApiKey key;
  std::string secret;
};

/// Keys in a file, a JSON object a line, for its owner's eyes only. A file that is not there has no
/// keys. Changes replace the file as a whole; two at once take turns.
class KeyFile {
 public:
  explicit KeyFile(std::string path) : path_(std::move(path)) {}

  /// CONFIG.INVALID names the line that is wrong, or says that others can read the file.
  [[nodiscard]] Result<std::vector<ApiKey>> list() const;
  Result<CreatedKey> create(NewKey key, Random& random, const Clock& clock);
  /// The key as it is now. TX.INVALID_STATE when it was revoked before.
  Result<ApiKey> revoke(std::string_view id, const Clock& clock);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  [[nodiscard]] Status write(const std::vector<ApiKey>& keys) const;

  std::string path_;
};

/// The keys of a file as requests are checked against them; follows changes of the file. Safe from
/// any thread.
class KeyRing {
 public:
  struct Options {
    /// How often to look whether the file has changed.
    Duration look_interval = std::chrono::seconds(1);
    const Clock* clock = &system_clock();
    Logger* log = &no_log();
  };

  /// CONFIG.INVALID when the file cannot be read or has no key that holds.
  static Result<std::unique_ptr<KeyRing>> open(KeyFile file, Options options);

  /// The key whose secret this is, unless it is revoked.
  [[nodiscard]] std::optional<ApiKey> find(std::string_view secret);

 private:
  KeyRing(KeyFile file, Options options, std::vector<ApiKey> keys);
  void follow();
  /// Changes whenever the file is replaced; empty when it is not there.
  [[nodiscard]] std::string mark() const;

  KeyFile file_;
  Options options_;
  std::mutex mutex_;
  std::vector<ApiKey> keys_;
  std::string mark_;
  BootTime looked_at_{};
};

}  // namespace sagabox::server
