#include "runtime/execute/memory.h"

#include <sys/mman.h>

namespace saccade {
inline namespace v0 {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;  // x86-64, and AArch64 with 4 KiB pages

void* map(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// A mapping that begins on a huge page: maps one more and gives back what lies before and behind.
void* map_huge(size_t bytes) {
  char* const begin = static_cast<char*>(map(bytes + kHugePage));
  if (begin == nullptr) return nullptr;
  const size_t past = reinterpret_cast<uintptr_t>(begin) % kHugePage;
  const size_t before = past == 0 ? 0 : kHugePage - past;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
#if defined(MADV_HUGEPAGE)
  madvise(begin + before, bytes, MADV_HUGEPAGE);
#endif
  return begin + before;
}

}  // namespace

bool AlignedBlock::reserve(size_t bytes) {
  if (bytes <= bytes_) return true;
  release();
  if (bytes > SIZE_MAX / 2) return false;
  const bool huge = bytes >= kHugePage;
  const size_t page = huge ? kHugePage : kPage;
  bytes = (bytes + page - 1) / page * page;
  data_ = huge ? map_huge(bytes) : map(bytes);
  if (data_ == nullptr) return false;
  bytes_ = bytes;
  return true;
}

void AlignedBlock::release() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr, bytes_ = 0;
}

}  // namespace v0
}  // namespace saccade
