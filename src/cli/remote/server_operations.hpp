#pragma once

#include "cli/operations.hpp"
#include "cli/remote/http_client.hpp"

#include <memory>
#include <string>

namespace sagabox::cli {

/// Over a daemon's REST API. `store`: whose audit log is meant, where the daemon has several; its
/// calls throw WrongUse when that is not said. Errors are those of the daemon, by their code;
/// CONFIG.INVALID where what answers is no daemon of ours.
std::unique_ptr<Operations> operate_over(std::unique_ptr<HttpClient> client, std::string store);

}  // namespace sagabox::cli
