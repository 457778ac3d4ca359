#pragma once

#include "cli/operations.hpp"
#include "cli/remote/http_client.hpp"

#include <memory>
#include <string>

namespace sagabox::cli {

/// Uses a daemon's REST API. `store` selects the audit log of a daemon that has several stores;
/// calls on it throw WrongUse if it is not given. Errors are those of the daemon, by their code;
/// CONFIG.INVALID if the server is not a sagabox daemon.
std::unique_ptr<Operations> operate_over(std::unique_ptr<HttpClient> client, std::string store);

}  // namespace sagabox::cli
