#pragma once

#include "assembly/configuration.hpp"
#include "assembly/secret_texts.hpp"
#include "cli/operations.hpp"
#include "cli/views/view_json.hpp"

#include <sagabox/spi/transport.hpp>

#include <string>
#include <vector>

namespace sagabox::cli {

/// Goes from place to place and collects what is wrong there.
class DoctorVisit {
 public:
  void store(Operations& operations);
  /// A broker; each place is asked for a few seconds at most.
  void transport(const std::string& where, spi::Transport& way);
  /// The stores, and what the routes name. What cannot be asked is a finding like others.
  void configuration(const assembly::Configuration& configuration);

  void add(const std::string& where, const std::vector<spi::Finding>& found);
  [[nodiscard]] const std::vector<PlacedFinding>& findings() const noexcept { return findings_; }
  /// Of what was found so far.
  void mask(const assembly::SecretTexts& secrets);
  /// Nothing needs to be done.
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
