#include "support/places.hpp"

namespace sagabox::testing {

std::filesystem::path project_folder() { return SAGABOX_SOURCE_DIR; }

std::filesystem::path cli_binary() { return SAGABOX_CLI; }

}  // namespace sagabox::testing
