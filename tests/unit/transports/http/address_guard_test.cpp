#include "transports/http/address_guard.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace sagabox::http {
namespace {

IpAddress ip(const std::string& text) { return IpAddress::parse(text).value(); }

AddressGuard guard(const std::vector<std::string>& allow = {}) {
  return AddressGuard::make(allow).value();
}

struct Row {
  const char* address;
  const char* what;  ///< empty: public
};

constexpr Row address_table[] = {
    {"0.0.0.0", "this network"},
    {"0.255.255.255", "this network"},
    {"1.0.0.0", ""},
    {"9.255.255.255", ""},
    {"10.0.0.0", "private network"},
    {"10.255.255.255", "private network"},
    {"11.0.0.0", ""},
    {"100.63.255.255", ""},
    {"100.64.0.0", "carrier network"},
    {"100.127.255.255", "carrier network"},
    {"100.128.0.0", ""},
    {"126.255.255.255", ""},
    {"127.0.0.1", "loopback"},
    {"127.255.255.255", "loopback"},
    {"128.0.0.0", ""},
    {"169.253.255.255", ""},
    {"169.254.0.0", "link-local"},
    {"169.254.169.254", "link-local"},
    {"169.255.0.0", ""},
    {"172.15.255.255", ""},
    {"172.16.0.0", "private network"},
    {"172.31.255.255", "private network"},
    {"172.32.0.0", ""},
    {"192.0.0.0", "protocol assignments"},
    {"192.0.0.255", "protocol assignments"},
    {"192.0.1.0", ""},
    {"192.0.2.1", "documentation"},
    {"192.0.3.0", ""},
    {"192.88.99.1", "6to4 relay"},
    {"192.88.100.0", ""},
    {"192.167.255.255", ""},
    {"192.168.0.0", "private network"},
    {"192.168.255.255", "private network"},
    {"192.169.0.0", ""},
    {"198.17.255.255", ""},
    {"198.18.0.0", "benchmarks"},
    {"198.19.255.255", "benchmarks"},
    {"198.20.0.0", ""},
    {"198.51.100.7", "documentation"},
    {"203.0.113.7", "documentation"},
    {"203.0.114.0", ""},
    {"223.255.255.255", ""},
    {"224.0.0.1", "multicast"},
    {"239.255.255.255", "multicast"},
    {"240.0.0.0", "reserved"},
    {"255.255.255.255", "reserved"},
    {"8.8.8.8", ""},

    {"::", "unspecified"},
    {"::1", "loopback"},
    {"fc00::", "private network"},
    {"fd12:3456::1", "private network"},
    {"fdff:ffff::", "private network"},
    {"fe00::1", "reserved"},
    {"fe80::1", "link-local"},
    {"febf:ffff::1", "link-local"},
    {"fec0::1", "site-local"},
    {"ff02::1", "multicast"},
    {"2001::1", "Teredo"},
    {"2001:0:7f00:1::", "Teredo"},
    {"2001:1::1", "protocol assignments"},
    {"2001:2::1", "protocol assignments"},
    {"2001:1ff::1", "protocol assignments"},
    {"2001:200::1", ""},
    {"2001:db8::1", "documentation"},
    {"3fff::1", "documentation"},
    {"2606:4700:4700::1111", ""},
    {"2a00:1450:4001:81b::200e", ""},
    {"100::1", "reserved"},
    {"4000::1", "reserved"},

    // IPv4 in IPv6
    {"::ffff:127.0.0.1", "loopback"},
    {"::ffff:10.1.2.3", "private network"},
    {"::ffff:169.254.169.254", "link-local"},
    {"::ffff:7f00:1", "loopback"},
    {"::ffff:8.8.8.8", ""},
    {"::ffff:0:127.0.0.1", "reserved"},
    {"::127.0.0.1", "loopback"},
    {"::10.1.2.3", "private network"},
    {"::8.8.8.8", ""},
    {"64:ff9b::127.0.0.1", "loopback"},
    {"64:ff9b::a9fe:a9fe", "link-local"},
    {"64:ff9b::8.8.8.8", ""},
    {"64:ff9b:1::8.8.8.8", "reserved"},
    {"2002:7f00:1::", "loopback"},
    {"2002:a9fe:a9fe::1", "link-local"},
    {"2002:c0a8:101::1", "private network"},
    {"2002:808:808::1", ""},
    {"fe80::5efe:8.8.8.8", "link-local"},
    {"2606:4700::5efe:127.0.0.1", "loopback"},
    {"2606:4700::200:5efe:10.0.0.1", "private network"},
    {"2606:4700::5efe:8.8.8.8", ""},
};

TEST(AddressGuard, EveryRangeIsKnownToItsEdges) {
  for (const auto& [address, what] : address_table)
    EXPECT_EQ(not_public(ip(address)), what) << address;
}

TEST(AddressGuard, NothingThatIsNotPublicIsLetThroughUnlessNamed) {
  for (const auto& [address, what] : address_table) {
    const auto refusal = guard().refusal({"host.example", ip(address), true});
    EXPECT_EQ(refusal.empty(), std::string_view(what).empty()) << address << ": " << refusal;
    if (refusal.empty()) continue;
    EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("`allow`"), std::string::npos) << refusal;
    EXPECT_TRUE(refusal.ends_with(R"(; in YAML: transports: { http: { allow: [")" +
                                  ip(address).text() + R"("] } })"))
        << refusal;
    EXPECT_EQ(guard({ip(address).text()}).refusal({"host.example", ip(address), true}), "")
        << address;
    EXPECT_EQ(guard({"Host.Example"}).refusal({"host.example", ip(address), true}), "");
  }
}

TEST(AddressGuard, SocketAddressesAreComparedAsNumbers) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(0x7f000001);
  sockaddr any{};
  std::memcpy(&any, &v4, sizeof v4);
  EXPECT_EQ(IpAddress::of(any, sizeof v4)->text(), "127.0.0.1");
  EXPECT_FALSE(IpAddress::of(any, sizeof v4 - 1));
  any.sa_family = AF_UNIX;
  EXPECT_FALSE(IpAddress::of(any, sizeof any));
}

TEST(AddressGuard, AllowedRangesEndWhereTheyEnd) {
  const auto some = guard({"10.1.0.0/16", "fd00:1::/33", "192.168.7.9"});
  const auto lets = [&](const char* address) {
    return some.refusal({"host.example", ip(address), true}).empty();
  };
  EXPECT_TRUE(lets("10.1.0.0"));
  EXPECT_TRUE(lets("10.1.255.255"));
  EXPECT_TRUE(lets("::ffff:10.1.2.3"));
  EXPECT_FALSE(lets("10.2.0.0"));
  EXPECT_FALSE(lets("10.0.255.255"));
  EXPECT_TRUE(lets("192.168.7.9"));
  EXPECT_FALSE(lets("192.168.7.8"));
  EXPECT_TRUE(lets("fd00:1:7fff::1"));
  EXPECT_FALSE(lets("fd00:1:8000::1"));
  // The way into a tunnel is another place than its end.
  EXPECT_FALSE(lets("2002:a01:203::"));
  EXPECT_FALSE(lets("64:ff9b::10.1.2.3"));
}

TEST(AddressGuard, PlainHttpGoesOnlyWhereItIsAllowed) {
  EXPECT_NE(guard().refusal({"host.example", ip("8.8.8.8"), false}).find("https://"),
            std::string::npos);
  EXPECT_EQ(guard({"8.8.8.0/24"}).refusal({"host.example", ip("8.8.8.8"), false}), "");
  EXPECT_EQ(guard({"host.example"}).refusal({"host.example", ip("8.8.8.8"), false}), "");
  EXPECT_NE(guard({"host.example"}).refusal({"other.example", ip("8.8.8.8"), false}), "");
}

TEST(AddressGuard, WrongEntriesAreNamed) {
  for (const auto* entry : {"", "10.0.0.0/33", "10.0.0.0/", "10.1.0.0/8", "fd00::/129", "10.0.0",
                            "host name", "10.0.0.0/-1", "http://host", "/8", "::1/x"}) {
    const auto made = AddressGuard::make(std::vector<std::string>{entry});
    ASSERT_FALSE(made.ok()) << entry;
    EXPECT_EQ(made.error().code, Code::config_invalid);
    EXPECT_NE(made.error().message.find(entry), std::string::npos) << made.error().message;
  }
}

TEST(AddressGuard, WholeInternetIsNoticed) {
  EXPECT_TRUE(guard({"0.0.0.0/0"}).allows_everything());
  EXPECT_TRUE(guard({"::/0"}).allows_everything());
  EXPECT_FALSE(guard({"10.0.0.0/8", "hooks.internal"}).allows_everything());
}

RC_GTEST_PROP(AddressGuard, WrappedAddressIsRefusedWhereverItsInsideIs,
              (const std::array<std::uint8_t, 4>& any,
               const std::array<std::uint8_t, 8>& network)) {
  const auto range = *rc::gen::element<std::uint8_t>(0, 10, 127, 224, 255);
  auto v4 = any;
  v4[0] = range;
  RC_ASSERT(!not_public(IpAddress(v4)).empty());
  std::array<std::uint8_t, 16> bytes{};
  const auto refused = [&] { return !not_public(IpAddress(bytes)).empty(); };
  std::copy(v4.begin(), v4.end(), bytes.begin() + 12);
  RC_ASSERT(refused());  // ::/96
  bytes[10] = bytes[11] = 0xff;
  RC_ASSERT(refused());  // mapped
  bytes = {0x00, 0x64, 0xff, 0x9b};
  std::copy(v4.begin(), v4.end(), bytes.begin() + 12);
  RC_ASSERT(refused());  // NAT64
  bytes = {0x20, 0x02};
  std::copy(v4.begin(), v4.end(), bytes.begin() + 2);
  std::copy(network.begin(), network.end(), bytes.begin() + 8);
  RC_ASSERT(refused());  // 6to4
  bytes = {};
  std::copy(network.begin(), network.end(), bytes.begin());
  bytes[10] = 0x5e;
  bytes[11] = 0xfe;
  std::copy(v4.begin(), v4.end(), bytes.begin() + 12);
  RC_ASSERT(refused());  // ISATAP
}

}  // namespace
}  // namespace sagabox::http
