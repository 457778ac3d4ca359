#include "fuzz/target.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// Feeds every file of the folders that are named to the target, in the order of their names.
int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int at = 1; at < count; ++at) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[at])) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::printf("%s\n", file.filename().c_str());
    std::fflush(stdout);  // the last one named is the one that failed
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;
}
