#include "server/api/keys.hpp"

#include "core/digest_text.hpp"
#include "core/text.hpp"
#include "core/timestamp.hpp"
#include "wire/fields.hpp"
#include "wire/json_out.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace sagabox::server {
namespace {

constexpr std::array<std::string_view, 3> role_names{"read", "operate", "admin"};
constexpr std::string_view prefix = "sbx_";
constexpr std::size_t id_length = 8;
constexpr std::size_t secret_length = 40;  // of 62 letters each: 238 bits
constexpr std::size_t name_length_max = 64;
constexpr std::size_t tenant_length_max = 64;

Error config(std::string message) { return {Code::config_invalid, std::move(message)}; }

/// Letters and digits, uniformly distributed.
std::string random_text(std::size_t length, Random& random) {
  constexpr std::string_view letters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string text;
  while (text.size() < length) {
    // 62 does not divide 64, so larger values are discarded.
    const auto six_bits = random.next() >> 58;
    if (six_bits < letters.size()) text += letters[six_bits];
  }
  return text;
}

/// A rename in it is on the disk then.
bool sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return false;
  const bool synced = ::fsync(opened) == 0;
  ::close(opened);
  return synced;
}

std::string line_of(const ApiKey& key) {
  wire::JsonOut json;
  json.begin_object()
      .field("id", key.id)
      .field("name", key.name)
      .field("role", role_name(key.role))
      .field_if("tenant", key.tenant)
      .field("payloads", key.payloads)
      .field("sha256", hex(key.hash))
      .field("created_at", key.created_at)
      .field_if("revoked_at", key.revoked_at)
      .end_object();
  return std::move(json).take();
}

Result<ApiKey> key_from(std::string_view line) {
  auto fields = wire::Fields::parse(line);
  if (!fields.ok()) return fields.error();
  ApiKey key;
  key.id = fields->text("id");
  key.name = fields->text("name");
  const auto role = role_from_name(fields->text("role"));
  key.tenant = fields->maybe_text("tenant");
  key.payloads = fields->flag("payloads");
  const auto hash = digest_from_hex(fields->text("sha256"));
  const auto created_at = fields->time("created_at");
  key.revoked_at = fields->time("revoked_at");
  if (key.id.size() != id_length) fields->wrong("id", "must have 8 characters");
  if (!role) fields->wrong("role", "must be read, operate or admin");
  if (!hash) fields->wrong("sha256", "must have 64 hex digits");
  if (!created_at) fields->wrong("created_at", "is missing");
  if (auto status = fields->status(); !status.ok()) return status.error();
  key.role = *role;
  key.hash = *hash;
  key.created_at = *created_at;
  return key;
}

std::string system_error() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

/// Held by one thread at a time, in all processes. Its file is not deleted: another process may
/// hold it by then.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : descriptor_(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (descriptor_ >= 0) held_ = ::flock(descriptor_, LOCK_EX) == 0;
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

Error cannot(std::string_view what, const std::string& path) {
  return config("key file " + quoted(path) + ": cannot " + std::string(what) + ": " +
                system_error());
}

Status check(const NewKey& key) {
  const auto text = [](std::string_view field, std::string_view value, std::size_t max) -> Status {
    const auto facts = text_facts(value);
    if (!value.empty() && facts.characters <= max &&
        facts.unprintable_at == std::string_view::npos) {
      return {};
    }
    return config(std::string(field) + ": give 1 to " + std::to_string(max) +
                  " printable characters");
  };
  if (auto status = text("name", key.name, name_length_max); !status.ok()) return status;
  if (key.tenant) return text("tenant", *key.tenant, tenant_length_max);
  return {};
}

}  // namespace

std::string_view role_name(Role role) noexcept {
  return role_names[static_cast<std::size_t>(role)];
}

std::optional<Role> role_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(role_names, name);
  if (found == role_names.end()) return std::nullopt;
  return static_cast<Role>(found - role_names.begin());
}

Result<std::vector<ApiKey>> KeyFile::list() const {
  struct stat facts{};
  if (::stat(path_.c_str(), &facts) != 0) {
    if (errno == ENOENT) return std::vector<ApiKey>{};
    return cannot("look at it", path_);
  }
  // A group may read it: secrets are mounted like this if the process is not their owner.
  if ((facts.st_mode & 037U) != 0) {
    return config("key file " + quoted(path_) + ": others can read or change it; chmod 600 it");
  }
  std::ifstream file(path_);
  if (!file) return cannot("open it", path_);
  std::vector<ApiKey> keys;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    auto key = key_from(line);
    if (!key.ok()) {
      return config("key file " + quoted(path_) + ", line " + std::to_string(number) + ": " +
                    key.error().message);
    }
    keys.push_back(std::move(*key));
  }
  return keys;
}

Status KeyFile::write(const std::vector<ApiKey>& keys) const {
  std::string text;
  for (const auto& key : keys) text += line_of(key) + "\n";
  const std::string beside = path_ + ".new";
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return cannot("write beside it", path_);
  bool fine = ::fchmod(file, 0600) == 0;
  for (std::size_t done = 0; fine && done < text.size();) {
    const auto bytes = ::write(file, text.data() + done, text.size() - done);
    fine = bytes > 0 || (bytes < 0 && errno == EINTR);
    if (bytes > 0) done += static_cast<std::size_t>(bytes);
  }
  fine = fine && ::fsync(file) == 0;
  fine = ::close(file) == 0 && fine;
  if (!fine || ::rename(beside.c_str(), path_.c_str()) != 0) return cannot("write it", path_);
  // A revoked key must not be valid again after a power failure.
  if (!sync_folder_of(path_)) return cannot("bring its folder to the disk", path_);
  return {};
}

Result<CreatedKey> KeyFile::create(NewKey wanted, Random& random, const Clock& clock) {
  if (auto status = check(wanted); !status.ok()) return status.error();
  const FileLock lock(path_);
  if (!lock.held()) return cannot("lock it", path_);
  auto keys = list();
  if (!keys.ok()) return keys.error();
  CreatedKey created;
  do {
    created.key.id = random_text(id_length, random);
  } while (std::ranges::find(*keys, created.key.id, &ApiKey::id) != keys->end());
  created.secret = std::string(prefix) + created.key.id + "_" + random_text(secret_length, random);
  created.key.name = std::move(wanted.name);
  created.key.role = wanted.role;
  created.key.tenant = std::move(wanted.tenant);
  created.key.payloads = wanted.payloads;
  created.key.hash = sha256(created.secret);
  created.key.created_at = clock.wall_now();
  keys->push_back(created.key);
  if (auto status = write(*keys); !status.ok()) return status.error();
  return created;
}

Result<ApiKey> KeyFile::revoke(std::string_view id, const Clock& clock) {
  const FileLock lock(path_);
  if (!lock.held()) return cannot("lock it", path_);
  auto keys = list();
  if (!keys.ok()) return keys.error();
  const auto found = std::ranges::find(*keys, id, &ApiKey::id);
  if (found == keys->end()) {
    return config("key " + quoted(id) + " is not in " + quoted(path_) +
                  "; `sagabox key list` shows the ids");
  }
  if (found->revoked_at) {
    return Error{Code::tx_invalid_state,
                 "key " + quoted(id) + " was revoked at " + utc_text(*found->revoked_at)};
  }
  found->revoked_at = clock.wall_now();
  ApiKey revoked = *found;
  if (auto status = write(*keys); !status.ok()) return status.error();
  return revoked;
}

Result<std::unique_ptr<KeyRing>> KeyRing::open(KeyFile file, Options options) {
  auto keys = file.list();
  if (!keys.ok()) return keys.error();
  const bool any = std::ranges::any_of(*keys, [](const ApiKey& key) { return !key.revoked_at; });
  if (!any) {
    return config("key file " + quoted(file.path()) +
                  " has no key that holds; make one: sagabox key create --keys " + file.path() +
                  " --name NAME --role admin");
  }
  return std::unique_ptr<KeyRing>(new KeyRing(std::move(file), options, std::move(*keys)));
}

KeyRing::KeyRing(KeyFile file, Options options, std::vector<ApiKey> keys)
    : file_(std::move(file)),
      options_(options),
      keys_(std::move(keys)),
      looked_at_(options.clock->boot_now()) {
  mark_ = mark();
}

std::string KeyRing::mark() const {
  struct stat facts{};
  if (::stat(file_.path().c_str(), &facts) != 0) return {};
  std::ostringstream text;
  text << facts.st_ino << ' ' << facts.st_size << ' ' << facts.st_mtim.tv_sec << ' '
       << facts.st_mtim.tv_nsec;
  return text.str();
}

void KeyRing::follow() {
  const auto now = options_.clock->boot_now();
  if (now - looked_at_ < options_.look_interval) return;
  looked_at_ = now;
  auto seen = mark();
  if (seen == mark_) return;
  auto keys = file_.list();
  if (!keys.ok()) {
    options_.log->log(LogLevel::error, "key file kept as it was",
                      {{"error", std::string_view(keys.error().message)}});
    return;
  }
  mark_ = std::move(seen);
  keys_ = std::move(*keys);
  options_.log->log(LogLevel::info, "key file read again", {{"keys", std::uint64_t{keys_.size()}}});
}

std::optional<ApiKey> KeyRing::find(std::string_view secret) {
  const auto hash = sha256(secret);
  const std::scoped_lock lock(mutex_);
  follow();
  const ApiKey* found = nullptr;
  // Every key is compared completely, so that the time taken reveals nothing.
  for (const auto& key : keys_) {
    if (CRYPTO_memcmp(key.hash.data(), hash.data(), hash.size()) == 0) found = &key;
  }
  if (found == nullptr || found->revoked_at) return std::nullopt;
  return *found;
}

}  // namespace sagabox::server
