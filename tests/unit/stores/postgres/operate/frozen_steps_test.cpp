#include "support/frozen_steps.hpp"

#include "stores/postgres/operate/migrations.hpp"

#include <array>

namespace sagabox::postgres {
namespace {

using sagabox::testing::FrozenStep;

constexpr std::array released{
    FrozenStep{"outbox", 1, "6abf69c8781a5aed69373bf07e7f698c4785d2571a9ffca5cee4d0e1fb7895e7",
               "9b897fa64bae351521d6170a9e8c4ca067411cbec1fa077d77384b987b287fb2"},
    FrozenStep{"outbox", 2, "4b1f47c742fcbfd2b99f56e1f417b86ca760edb2bbd1d9fc31c876586378a718",
               "61e87129dc2eb22fe3f33b1b1f8dd065e7f1cfd85e610b5bf9687502b317e1f3"},
    FrozenStep{"outbox", 3, "8994879ee0b5818e770279fbd029d929baeecc86d469cbc97847b1e48c981864",
               "b8a907ad8d964b6fe185b547bdeeae3fd23561ef6be2c93555c33ca0e7dd02f1"},
    FrozenStep{"outbox", 4, "0be1015f3b8ad3252c0f4204e37948f53637a76f10c813ed713c0e812c3f35c1",
               "825914912a05d64be76995f82f7a6949df4f305852cbd0338b36b00cdf4a2039"},
    FrozenStep{"outbox", 5, "0526b7ece81dff0468ccc78ac314520c0ee8363576a5df3fc7345bed3baa981b",
               "21c17bd5e7e553e2e6ddfcec3d742bb1d62ea2113a4e924adc0530db6c8bdd7a"},
    FrozenStep{"outbox", 6, "d8f0de5ac674ebf0f2ee716d2aee5b288231f53d89533a4e0d81bc21e2605849",
               "4f61ec851307e556752c5035f81f7b479ceddddd770799801841d07e10f50006"},
    FrozenStep{"outbox", 7, "72324df43d615c2d510fe83c48a87b3b3f902d91b9f6f1381e5d4001ddc3482e",
               "0c60b2aee4cba8522dfeca2b8d9f008cba3ed1a4c3782532509bfb8b090ac65d"},
    FrozenStep{"idempotency", 1, "ea6bd428fe39ea411d293808fde10867bcbb3967bfe649b4e1c098166535500e",
               "1c6b7a70fcbf0c3b0c3961566b2416e2c318147d7ca95c74312328b544d46789"},
    FrozenStep{"inbox", 1, "17c33354c7651885222d6892a32b162bedb1e951939889096520381f1a3b934f",
               "757d9bcfc0d7b2c4e6c5caef809975a39f154e05567b983bb5026056a072b1d1"},
    FrozenStep{"inbox", 2, "3abcecbbd9ef9642170acdfe9efb215391f29c9f2d6dd6be88c3c9991efe059b",
               "2d27880781bc8f6fdf558014c59407a9b7ad4c1af1503fe5162489682c9496e3"},
    FrozenStep{"saga", 1, "5f4c9517857bcf499c5ed0c56b5111717b6b27cd9cb46032c11031f1bb446726",
               "51363687668cc9f828d1faf1daa3d7a4b87709f95ec57b1c462b75109e6b719b"},
    FrozenStep{"saga", 2, "fc782c691fc9ca4cb2b9afd2bd8cb31ba997cc12562bf147af456a1519020b70",
               "c8b535387a46385c9ee6b947bfd627485d4527b2e411d7508f1570a85f42b63f"},
};

TEST(PostgresFrozenSteps, ReleasedStepsNeverChange) {
  // The hub, which is the last of them, is not released yet.
  sagabox::testing::expect_frozen(engines().first(engines().size() - 1), released, reference_sql);
}

}  // namespace
}  // namespace sagabox::postgres
