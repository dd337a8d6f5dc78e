// Any bytes as a safetensors file: refused with a Failure, or tensors whose bytes all lie in the file and fit their shapes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/graph/check.h"
#include "runtime/model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace saccade;
  const auto file = std::as_bytes(std::span(data, size));
  size_t covered = 0;
  bool read = false;
  const Status status = caught([&] {
    for (const Tensor& tensor : parse_safetensors("fuzz", file)) {
      if (!tensor.bytes.empty() && (tensor.bytes.data() < file.data() || &tensor.bytes.back() > &file.back())) std::abort();
      if (element_count(tensor) < 0) std::abort();
      covered += tensor.bytes.size();
    }
    read = true;
  });
  if (read && covered + 8 > size) std::abort();
  if (!read && (status.ok() || status.message().empty() || status.code() == Code::kInternal)) std::abort();
  return 0;
}
