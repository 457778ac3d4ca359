#include "conformance/transports/event_line.hpp"
#include "conformance/transports/transport_conformance.hpp"

#include <sagabox/transports/file.hpp>

#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace sagabox::testing {
namespace {

/// A folder of its own; a disk that is not there is a folder that is not there.
class FileSide final : public FarSide {
 public:
  FileSide() {
    std::string name = std::filesystem::temp_directory_path() / "sagabox-lines-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for files");
    folder_ = name;
    std::filesystem::create_directory(folder_ / "disk");
  }
  ~FileSide() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<spi::Transport> open() override { return file::open(); }
  std::string fresh_address() override {
    return "file:" + (folder_ / "disk" / (std::to_string(++last_) + ".jsonl")).string();
  }
  std::vector<Arrived> arrived(const std::string& address, std::size_t) override {
    std::vector<Arrived> all;
    std::ifstream lines(address.substr(address.find(':') + 1));
    for (std::string line; std::getline(lines, line);) all.push_back(event_of(line).value());
    return all;
  }
  bool stop() override {
    std::filesystem::rename(folder_ / "disk", folder_ / "away");
    return true;
  }
  void start() override { std::filesystem::rename(folder_ / "away", folder_ / "disk"); }

 private:
  std::filesystem::path folder_;
  int last_ = 0;
};

INSTANTIATE_TEST_SUITE_P(File, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "File", [] { return std::make_unique<FileSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
