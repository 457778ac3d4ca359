#include "conformance/transports/transport_conformance.hpp"
#include "core/headers_text.hpp"

#include <sagabox/transports/file.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <openssl/evp.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace sagabox::testing {
namespace {

std::string from_base64(std::string_view text) {
  std::string bytes(text.size(), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  const auto padding = static_cast<int>(std::ranges::count(text, '='));
  bytes.resize(static_cast<std::size_t>(size - padding));
  return bytes;
}

/// As it stands in the line, not as a parser would say it again.
std::string data_of(std::string_view line) {
  constexpr std::string_view before = "\"data\":";
  const auto begin = line.find(before) + before.size();
  return std::string(line.substr(begin, line.size() - begin - 1));
}

Arrived parsed(const std::string& line) {
  Arrived arrived;
  const auto event = boost::json::parse(line).as_object();
  for (const auto& [name, value] : event) {
    if (name == "data") {
      arrived.payload = data_of(line);
    } else if (name == "data_base64") {
      arrived.payload = from_base64(std::string_view(value.as_string()));
    } else if (name == "datacontenttype") {
      arrived.content_type = value.as_string().c_str();
    } else if (name == "headers") {
      arrived.headers = headers_from_text(std::string_view(value.as_string())).value();
    } else {
      arrived.attributes.emplace_back(std::string(name), std::string(value.as_string()));
    }
  }
  return arrived;
}

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
    for (std::string line; std::getline(lines, line);) all.push_back(parsed(line));
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
