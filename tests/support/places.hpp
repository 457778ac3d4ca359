#pragma once

#include <filesystem>

namespace sagabox::testing {

/// The folder of the sources: some tests read documents and data.
[[nodiscard]] std::filesystem::path project_folder();
/// The binary, for tests that run it.
[[nodiscard]] std::filesystem::path cli_binary();

}  // namespace sagabox::testing
