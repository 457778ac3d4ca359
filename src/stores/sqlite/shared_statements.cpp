#include "stores/sqlite/statements.hpp"

namespace sagabox::sqlite {

SharedStatements::SharedStatements(sql::Sections& sections) {
  assign(count, sections.take_only("counts_add"));
  assign(hold, sections.take_only("fence_hold"));
}

}  // namespace sagabox::sqlite
