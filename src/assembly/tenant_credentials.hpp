#pragma once

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// What lets requests of a tenant in at some hosts.
struct TenantCredentials {
  std::string tenant{};              ///< empty: every tenant
  std::vector<std::string> hosts{};  ///< "*": every host
  std::string bearer{};
  std::string username{};
  std::string password{};
  std::string header{};
  std::string value{};

  /// Names the setting that is wrong, never its value.
  [[nodiscard]] Status check() const;
  [[nodiscard]] bool is_for(const std::string& tenant_of, const std::string& host) const;
  [[nodiscard]] bool covers(const std::string& host) const;
  [[nodiscard]] Headers headers() const;
};

/// The credentials of all tenants, for `http::Options::credentials`. They may change while it is
/// used. Thread-safe.
class CredentialBook {
 public:
  explicit CredentialBook(std::vector<TenantCredentials> all) { change(std::move(all)); }

  void change(std::vector<TenantCredentials> all);
  /// Those of the first entry for this tenant and host; none where no entry covers the host.
  /// AUTH.DENIED: others have credentials for it, and this tenant has not.
  [[nodiscard]] Result<Headers> find(const std::string& tenant, const std::string& host) const;

 private:
  struct Entry {
    TenantCredentials given;
    Headers headers;
  };

  mutable std::mutex mutex_;  // of entries_
  std::shared_ptr<const std::vector<Entry>> entries_;
};

}  // namespace sagabox::assembly
