// Sizes of data caches: from Linux, else from the CPU itself.
#include "runtime/execute/machine_facts.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace saccade::execute {
namespace {

void keep(Caches& caches, int64_t level, int64_t bytes) {
  if (level == 1) caches.l1d = bytes;
  if (level == 2) caches.l2 = bytes;
  if (level == 3) caches.l3 = bytes;
}

}  // namespace

int64_t parse_size(std::string_view text) {
  int64_t unit = 1;
  if (!text.empty()) {
    if (text.back() == 'K') unit = int64_t{1} << 10;
    if (text.back() == 'M') unit = int64_t{1} << 20;
    if (text.back() == 'G') unit = int64_t{1} << 30;
  }
  if (unit != 1) text.remove_suffix(1);
  const int64_t value = parse_integer(text).value_or(0);
  return value > 0 && value <= INT64_MAX / unit ? value * unit : 0;
}

Caches sysfs_caches(const std::string& root, int cpu) {
  Caches caches;
  // At most two caches on the first level and one on each of three more.
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
    const auto level = read_file(folder + "level"), type = read_file(folder + "type"), size = read_file(folder + "size");
    if (!level || !type || !size || *type == "Instruction") continue;
    keep(caches, parse_integer(*level).value_or(0), parse_size(*size));
  }
  return caches;
}

Caches cpuid_caches() {
  Caches caches;
#if defined(__x86_64__)
  // Deterministic cache parameters: Intel's leaf 4 and AMD's 0x8000001D (Zen and later) have the same fields.
  for (unsigned leaf : {4u, 0x8000001du}) {
    for (unsigned index = 0; index < 8; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (__get_cpuid_count(leaf, index, &a, &b, &c, &d) == 0) break;
      const unsigned type = a & 31;  // 0: no more, 1: data, 2: instruction, 3: unified
      if (type == 0) break;
      if (type == 2) continue;
      const int64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3ff) + 1, line = (b & 0xfff) + 1;
      keep(caches, (a >> 5) & 7, ways * partitions * line * (int64_t{c} + 1));
    }
    if (caches.l1d > 0) break;
  }
#endif
  return caches;
}

}  // namespace saccade::execute
