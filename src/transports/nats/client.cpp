#include "transports/nats/client.hpp"

#include "core/error_text.hpp"

#include <functional>

namespace sagabox::nats {
namespace {

struct Setting {
  const char* name;
  bool given;
  std::function<natsStatus()> apply;
};

std::int64_t milliseconds(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration).count();
}

std::vector<Setting> settings_of(natsOptions* client, const Options& options) {
  const auto& [user, password, token, file, nkey, nkey_seed_file] = options.credentials;
  const auto& tls = options.tls;
  return {
      {"connect_max", true,
       [=, max = milliseconds(options.connect_max)] {
         return natsOptions_SetTimeout(client, max);
       }},
      {"name", !options.name.empty(),
       [&, client] { return natsOptions_SetName(client, options.name.c_str()); }},
      {"credentials.user", !user.empty(),
       [&, client] { return natsOptions_SetUserInfo(client, user.c_str(), password.c_str()); }},
      {"credentials.token", !token.empty(),
       [&, client] { return natsOptions_SetToken(client, token.c_str()); }},
      {"credentials.file", !file.empty(),
       [&, client] {
         return natsOptions_SetUserCredentialsFromFiles(client, file.c_str(), nullptr);
       }},
      {"credentials.nkey", !nkey.empty(),
       [&, client] {
         return natsOptions_SetNKeyFromSeed(client, nkey.c_str(), nkey_seed_file.c_str());
       }},
      {"tls.required", tls.required, [=] { return natsOptions_SetSecure(client, true); }},
      {"tls.ca_file", !tls.ca_file.empty(),
       [&, client] { return natsOptions_LoadCATrustedCertificates(client, tls.ca_file.c_str()); }},
      {"tls.certificate_file", !tls.certificate_file.empty(),
       [&, client] {
         return natsOptions_LoadCertificatesChain(client, tls.certificate_file.c_str(),
                                                  tls.key_file.c_str());
       }},
      {"tls.host_name", !tls.host_name.empty(),
       [&, client] { return natsOptions_SetExpectedHostname(client, tls.host_name.c_str()); }},
  };
}

}  // namespace

std::string trouble(natsStatus status) {
  const char* details = nats_GetLastError(nullptr);
  std::string text = natsStatus_GetText(status);
  if (details != nullptr && *details != '\0' && text != details) {
    text.append(": ").append(details);
  }
  return clean_error(text);
}

Result<OptionsHandle> client_options(const Options& options,
                                     const std::vector<std::string>& more_servers) {
  natsOptions* raw = nullptr;
  if (const auto status = natsOptions_Create(&raw); status != NATS_OK) {
    return Error{Code::unknown_internal, "libnats: " + trouble(status)};
  }
  OptionsHandle client(raw);
  std::vector<const char*> servers;
  for (const auto& server : options.servers) servers.push_back(server.c_str());
  for (const auto& server : more_servers) servers.push_back(server.c_str());
  if (natsOptions_SetServers(raw, servers.data(), static_cast<int>(servers.size())) != NATS_OK) {
    return Error{Code::config_invalid,
                 "transports nats: servers: give URLs such as nats://127.0.0.1:4222"};
  }
  for (const auto& setting : settings_of(raw, options)) {
    if (!setting.given) continue;
    if (const auto status = setting.apply(); status != NATS_OK) {
      return Error{Code::config_invalid,
                   std::string("transports nats: ") + setting.name + ": " + trouble(status)};
    }
  }
  return client;
}

}  // namespace sagabox::nats
