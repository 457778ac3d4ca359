#include "cli/command_tree.hpp"

#include <gtest/gtest.h>

namespace sagabox::cli {
namespace {

Command small_tree() {
  const CommandOption yes{.names = {"-y", "--yes"}, .description = "don't ask"};
  const CommandOption store{.names = {"--store"},
                            .type = "URL",
                            .description = "where it is",
                            .variable = "SAGABOX_STORE"};
  const CommandOption id{
      .names = {"ID"}, .description = "which", .positional = true, .required = true};
  const CommandOption state{.names = {"--state"},
                            .type = "STATE:{done,dead}",
                            .description = "which",
                            .values = {"done", "dead"}};
  const CommandOption table{
      .names = {"--table"}, .type = "NAME", .description = "the outbox", .names_table = true};
  const Command list{
      .name = "list", .description = "Lists them", .options = {yes, store, state, table, id}};
  return {
      .name = "sagabox",
      .description = "Reliably.",
      .verbs = {
          {.name = "dead", .description = "Dead letters", .footer = ".x\n'y", .verbs = {list}}}};
}

TEST(CommandTree, IsVisitedByPath) {
  std::string paths;
  for_each_command(small_tree(), [&](const std::string& path, const Command& command) {
    paths += "[" + path + "|" + command.name + "]";
  });
  EXPECT_EQ(paths, "[|sagabox][dead|dead][dead list|list]");
}

TEST(Completion, OffersVerbsAndOptionsWhereTheyAreTaken) {
  const auto bash = completion(small_tree(), "bash");
  EXPECT_NE(bash.find("'dead') words='list' ;;"), std::string::npos) << bash;
  EXPECT_NE(bash.find("'dead list') words='--yes --store --state --table' ;;"), std::string::npos)
      << bash;
  const auto zsh = completion(small_tree(), "zsh");
  EXPECT_NE(zsh.find(R"('--yes:don'\''t ask')"), std::string::npos) << zsh;
  const auto fish = completion(small_tree(), "fish");
  EXPECT_NE(fish.find(R"(-n '__sagabox_at "dead list"' -s y -l yes -d 'don'\''t ask')"),
            std::string::npos)
      << fish;
  EXPECT_NE(fish.find(R"(-l store -r -d)"), std::string::npos) << fish;
  EXPECT_EQ(completion(small_tree(), "tcsh"), "");
}

TEST(Completion, OffersValuesBehindTheirOptions) {
  const auto bash = completion(small_tree(), "bash");
  EXPECT_NE(bash.find("('dead list --state') words='done dead' ;;"), std::string::npos) << bash;
  EXPECT_NE(bash.find("(*' --table') words=\"$(_sagabox_tables)\" ;;"), std::string::npos) << bash;
  const auto zsh = completion(small_tree(), "zsh");
  EXPECT_NE(zsh.find("('dead list --state') compadd -- done dead; return ;;"), std::string::npos)
      << zsh;
  const auto fish = completion(small_tree(), "fish");
  EXPECT_NE(fish.find("-l state -x -a 'done dead' -d"), std::string::npos) << fish;
  EXPECT_NE(fish.find("-l table -x -a '(sagabox table-names 2>/dev/null)' -d"), std::string::npos)
      << fish;
}

TEST(ManPage, TellsWhatAllVerbsTakeOnce) {
  const auto page = man_page(small_tree(), "1.2.3");
  EXPECT_NE(page.find(".TH SAGABOX 1 \"\" \"sagabox 1.2.3\""), std::string::npos) << page;
  EXPECT_NE(page.find(".SS sagabox dead list\nLists them.\n.TP\n\\fB\\-y\\fR, \\fB\\-\\-yes\\fR\n"),
            std::string::npos)
      << page;
  EXPECT_EQ(page.find("\\-\\-store\\fR \\fIURL"), page.rfind("\\-\\-store\\fR \\fIURL"));
  EXPECT_NE(page.find("\\fBSAGABOX_STORE\\fR"), std::string::npos) << page;
  EXPECT_NE(page.find("\\&.x\n\\&'y"), std::string::npos) << page;
  EXPECT_NE(page.find("which (needed)"), std::string::npos) << page;
}

}  // namespace
}  // namespace sagabox::cli
