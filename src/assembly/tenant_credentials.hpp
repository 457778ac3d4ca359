#pragma once

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// Credentials for the requests of a tenant to some hosts.
struct TenantCredentials {
  std::string tenant{};              ///< empty: every tenant
  std::vector<std::string> hosts{};  ///< "*": every host
  std::string bearer{};
  std::string username{};
  std::string password{};
  std::string header{};
  std::string value{};

  /// An error names the setting that is wrong, never its value.
  [[nodiscard]] Status check() const;
  [[nodiscard]] bool is_for(const std::string& tenant_of, const std::string& host) const;
  [[nodiscard]] bool covers(const std::string& host) const;
  [[nodiscard]] Headers headers() const;
};

/// The credentials of all tenants, for `http::Options::credentials`. May change while in use.
/// Thread-safe.
class CredentialBook {
 public:
  explicit CredentialBook(std::vector<TenantCredentials> all) { change(std::move(all)); }

  void change(std::vector<TenantCredentials> all);
  /// The headers of the first entry for this tenant and host; empty if no entry covers the host.
  /// AUTH.DENIED: only other tenants have credentials for it.
  [[nodiscard]] Result<Headers> find(const std::string& tenant, const std::string& host) const;

 private:
  struct Entry {
    TenantCredentials given;
    Headers headers;
  };

  mutable std::mutex mutex_;  // guards entries_
  std::shared_ptr<const std::vector<Entry>> entries_;
};

}  // namespace sagabox::assembly
