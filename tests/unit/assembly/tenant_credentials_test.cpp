#include "assembly/tenant_credentials.hpp"

#include <gtest/gtest.h>

namespace sagabox::assembly {
namespace {

TEST(CredentialBook, TheFirstThatFitsTenantAndHostCounts) {
  const CredentialBook book(
      {{.tenant = "acme", .hosts = {"a.example"}, .bearer = "one"},
       {.tenant = "acme", .hosts = {"b.example"}, .bearer = "two"},
       {.tenant = "umbrella", .hosts = {"A.Example"}, .username = "me", .password = "pass"}});
  EXPECT_EQ(book.find("acme", "a.example").value(), (Headers{{"Authorization", "Bearer one"}}));
  EXPECT_EQ(book.find("acme", "b.example").value(), (Headers{{"Authorization", "Bearer two"}}));
  EXPECT_EQ(book.find("umbrella", "a.example").value(),
            (Headers{{"Authorization", "Basic bWU6cGFzcw=="}}));
}

TEST(CredentialBook, ATenantWithoutOneIsDeniedWhereOthersHaveOne) {
  CredentialBook book({{.tenant = "acme", .hosts = {"a.example"}, .bearer = "one"}});
  EXPECT_EQ(book.find("umbrella", "a.example").error().code, Code::auth_denied);
  EXPECT_EQ(book.find("umbrella", "b.example").value(), Headers{}) << "nobody needs one there";
  book.change({{.tenant = "acme", .hosts = {"*"}, .bearer = "one"}});
  EXPECT_EQ(book.find("umbrella", "b.example").error().code, Code::auth_denied);
  book.change({{.tenant = "acme", .hosts = {"a.example"}, .bearer = "one"},
               {.hosts = {"a.example"}, .header = "X-Key", .value = "all"}});
  EXPECT_EQ(book.find("umbrella", "a.example").value(), (Headers{{"X-Key", "all"}}));
  book.change({});
  EXPECT_EQ(book.find("umbrella", "a.example").value(), Headers{});
}

}  // namespace
}  // namespace sagabox::assembly
