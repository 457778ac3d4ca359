#include <sagabox/payload.hpp>

namespace sagabox {

Payload Payload::copy_of(PayloadForm form, std::string_view data) {
  Payload copy;
  copy.form_ = form;
  copy.size_ = data.size();
  auto kept = std::make_shared_for_overwrite<char[]>(data.size());
  char* const first = kept.get();
  data.copy(first, data.size());
  copy.data_ = std::shared_ptr<const char>(std::move(kept), first);
  return copy;
}

}  // namespace sagabox
