#include "cli/connect_cure.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sagabox::cli {
namespace {

/// The first words of the cure.
std::string begins(const std::string& error, std::size_t bytes) {
  return connect_cure(error).substr(0, bytes);
}

TEST(ConnectCure, IsThatOfTheCause) {
  EXPECT_EQ(
      begins("cannot connect to https://x.invalid:443: Could not resolve host: x.invalid", 21),
      "its name is not known");
  EXPECT_EQ(begins("cannot connect to PostgreSQL: could not translate host name \"db\" to address: "
                   "Name or service not known",
                   21),
            "its name is not known");
  EXPECT_EQ(begins("cannot connect to PostgreSQL: connection to server at \"127.0.0.1\", port 1 "
                   "failed: Connection refused Is the server running on that host?",
                   22),
            "nothing listens there:");
  EXPECT_EQ(begins("cannot connect to http://a:1: Couldn't connect to server", 22),
            "nothing listens there:");
  EXPECT_EQ(begins("SSL peer certificate or SSH remote key was not OK", 22),
            "TLS did not come about");
  EXPECT_EQ(begins("PostgreSQL refused the connection: FATAL: password authentication failed for "
                   "user \"shop\"; check user and password",
                   26),
            "it is up and refuses us: c");
  EXPECT_EQ(begins("PostgreSQL refused the connection: FATAL: database \"shop\" does not exist; "
                   "create it, or mend the URL",
                   19),
            "create the database");
  EXPECT_EQ(begins("FATAL: sorry, too many clients already", 25), "it has no connection left");
  EXPECT_EQ(begins("Connection timed out after 5000 ms", 18), "it does not answer");
}

TEST(ConnectCure, SeveralServersSeveralCauses) {
  const auto cure = connect_cure(
      "cannot connect to http://a:1: Connection refused; https://b.invalid: Could not resolve "
      "host");
  EXPECT_NE(cure.find("nothing listens"), std::string::npos) << cure;
  EXPECT_NE(cure.find("not known here"), std::string::npos) << cure;
}

TEST(ConnectCure, UnknownCausesKeepTheQuestion) {
  EXPECT_EQ(connect_cure("it sulks"), "see whether it is up, and whether we may log in");
}

}  // namespace
}  // namespace sagabox::cli
