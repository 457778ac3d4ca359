#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sagabox {

inline constexpr std::size_t error_bytes_default = 2048;
/// No error text is longer, whatever `bytes_max` is.
inline constexpr std::size_t error_characters_max = 4000;
/// A payload shorter than this is not searched for, because it would match by chance.
inline constexpr std::size_t payload_bytes_recognised = 8;

/// Returns `text` in a form that is safe to store and show: at most `bytes_max` bytes, well-formed
/// UTF-8 on one line. These parts are masked by ***:
/// - the user and password of a URL (`scheme://user:password@host`),
/// - what follows `authorization`, to the end of its line or quotes, and the word after `bearer`,
/// - the value after a name that ends in `password`, `passwd`, `pwd`, `passphrase`, `secret`,
///   `token`, `api_key`, `api-key`, `apikey`, `access_key`, `secret_key`, `client_key`,
///   `server_key`, `credential`, `credentials`, `signature` or `sig`, and a = or :.
/// A text that is a URL as a whole is masked more strictly by `masked_url`. Occurrences of
/// `payload` in the text are replaced by [payload].
std::string clean_error(std::string_view text, std::size_t bytes_max = error_bytes_default,
                        std::string_view payload = {});

}  // namespace sagabox
