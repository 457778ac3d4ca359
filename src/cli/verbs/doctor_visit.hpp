#pragma once

#include "assembly/configuration.hpp"
#include "assembly/secret_texts.hpp"
#include "cli/operations.hpp"
#include "cli/views/view_json.hpp"

#include <sagabox/spi/transport.hpp>

#include <string>
#include <vector>

namespace sagabox::cli {

/// Checks one part after the other and collects the findings.
class DoctorVisit {
 public:
  void store(Operations& operations);
  /// Checks a broker, for a few seconds at most.
  void transport(const std::string& where, spi::Transport& way);
  /// Checks the stores, and what the routes name. A part that cannot be checked is a finding, too.
  void configuration(const assembly::Configuration& configuration);

  void add(const std::string& where, const std::vector<spi::Finding>& found);
  [[nodiscard]] const std::vector<PlacedFinding>& findings() const noexcept { return findings_; }
  /// Masks secrets in the findings so far.
  void mask(const assembly::SecretTexts& secrets);
  /// True if there is nothing to fix.
  [[nodiscard]] bool fine() const;

 private:
  void hub(Operations& operations);
  void clock(Operations& operations, const TableName& table);
  void store_of(const assembly::StoreSettings& settings);
  void tables_of(Operations& operations, const assembly::StoreSettings& settings);
  void routes_of(const assembly::Configuration& configuration);

  std::vector<PlacedFinding> findings_;
};

}  // namespace sagabox::cli
