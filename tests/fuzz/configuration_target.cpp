#include "assembly/configuration_file.hpp"
#include "assembly/configuration_text.hpp"
#include "fuzz/target.hpp"

#include <string>

/// The text of a file; a first line that begins with # may be a variable: "#SAGABOX_RETENTION=7d".
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sagabox;
  const auto text = fuzz::text_of(data, size);
  assembly::Environment environment{{"SECRET", "s3cret"}};
  auto rest = text;
  const auto first = fuzz::next_line(rest);
  const auto equals = first.find('=');
  if (first.starts_with("#SAGABOX_") && equals != std::string_view::npos) {
    environment.emplace(first.substr(1, equals - 1), first.substr(equals + 1));
  }
  const auto configured =
      assembly::read_configuration(std::string(text), "sagabox.yaml", environment);
  for (const auto& problem : configured.problems)
    fuzz::must(!problem.empty(), "a problem says why");
  if (!configured.problems.empty()) return 0;
  fuzz::must(!configured.configuration.stores.empty(), "there is a store");
  fuzz::must(!assembly::configuration_yaml(configured).empty(), "it can be shown");
  return 0;
}
