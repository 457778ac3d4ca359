#pragma once

#include <string>
#include <string_view>

namespace sagabox {

/// Replaces a secret.
inline constexpr std::string_view secret_mask = "***";

/// Returns `text`, a URL, an address or a connection string, in a form that is safe for errors,
/// logs and users. The scheme, hosts, ports, the path, and parameters known to be harmless
/// (`sslmode`) are shown. These parts are masked by ***:
/// - everything before the last @, except the user if it is certain and the scheme is not HTTP,
/// - every other parameter after ?, or only its value if its name says that it is a secret,
/// - the text after # or after a name like `password` in a path,
/// - everything after the scheme if hosts and ports cannot be distinguished from a password.
/// The text need not be well-formed: in doubt it is masked.
std::string masked_url(std::string_view text);

/// Returns `text`, the target of a webhook, in the form for lists, logs and findings: like
/// `masked_url`, but the path of an http:// or https:// URL is masked from its first part that does
/// not consist of words, because some services use URLs whose path contains the key, such as
/// https://hooks.example/services/T000/B000/KEY.
std::string masked_target(std::string_view text);

}  // namespace sagabox
