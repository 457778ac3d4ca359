#include "support/frozen_steps.hpp"

#include "stores/sqlite/migrations.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

using sagabox::testing::FrozenStep;

constexpr std::array frozen{
    FrozenStep{"outbox", 1, "24e7958186790cccde228c872b4d5bb3484103382ddd975b4b223a5ff55a21c7",
               "a3ba8198c2849ec884cbc39e569f29aeddcaac2d49a1c1a0990e9af8d77c2691"},
    FrozenStep{"outbox", 2, "4254f7008d314b1359fa14ffa62e146c9e45832b032e9f43d8a9d6eb18d2379c",
               "1140f7c8a5224c03519a175f21c5bf699c21d8c35102957f6ab8a24ca492f2e0"},
    FrozenStep{"outbox", 3, "6680349ec255e441ed2d9da9fbf816f8cb1eff1d665515ae3478d5150c322a63",
               "dcdf0b314f68ca6b43049ccdb8944a12f61116083ed55faa044f357eba626e88"},
    FrozenStep{"idempotency", 1, "ff7736cc8018204922718e2c98d694e75ccfe1d9677c82284893be4621b2712c",
               "ad0d428146ef7a287570fd5c35cf09fe4ba8a10b9431c3bdea6c6ffb472e0b5c"},
    FrozenStep{"inbox", 1, "e743ea828dc350e1905c7929b2c6b1934ebb55f7bd43e7aad6206155b0a8937b",
               "cfa2350b32bd83ae0bfe9ef3798ebb218bda04e6fb17267fa8788fa220762998"},
    FrozenStep{"saga", 1, "db988aeac68f94acee7154b8daff19f5446605161b543efa23f8e6b9b2626b49",
               "a1827c8727f00f9b10cffba8cbfe998c77e862faaf119ac31bb2a306d1a4b658"},
    FrozenStep{"saga", 2, "b1afc5f80334229bf1cf7a6dfd43cee44d38ecfe7853e8b440308a0bb45d19d6",
               "902b7af6ef4c3787dff9932530ca663436ff3c583fb28ea5ecded208694b7f9b"},
};

TEST(SqliteFrozenSteps, ReleasedStepsNeverChange) {
  // The hub, which is the last of them, is not released yet.
  sagabox::testing::expect_frozen(engines().first(engines().size() - 1), frozen, reference_sql);
}

}  // namespace
}  // namespace sagabox::sqlite
