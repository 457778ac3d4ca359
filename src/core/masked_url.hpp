#pragma once

#include <string>
#include <string_view>

namespace sagabox {

/// Stands where a secret was.
inline constexpr std::string_view secret_mask = "***";

/// `text`, a URL, an address or a connection string, as an error, a log line or a person may see
/// it. Shown are the scheme, hosts, ports, the path, and parameters that are known to be harmless
/// (`sslmode`). Masked by *** are
/// - everything before the last @, but not the user where it is certain and the scheme is not HTTP,
/// - every other parameter behind ?, or only its value where its name says that it is a secret,
/// - what follows # or a name like `password` in a path,
/// - everything behind the scheme where hosts and ports cannot be told from a password.
/// It need not be well-formed: in doubt it is masked.
std::string masked_url(std::string_view text);

/// `text`, where a webhook goes, as lists, logs and findings show it: as `masked_url`, and of the
/// path of an http:// or https:// URL only what are words. Services give their callers URLs whose
/// path is the key, such as https://hooks.example/services/T000/B000/KEY. From the first part on
/// that is none, all of it is ***.
std::string masked_target(std::string_view text);

}  // namespace sagabox
