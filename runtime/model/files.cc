#include "runtime/model/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

// An open regular file that is closed again.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) {
    if (path.find('\0') != std::string::npos) fail(Code::kInvalidArgument, "a path holds a zero byte");
    // Nonblocking: opening a pipe must not wait for its writer.
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (descriptor_ < 0) {
      const int error = errno;
      if (error == ENOENT && exists(path)) fail(Code::kNotFound, path, ": is a link to a file that is not there");
      fail(error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kInvalidArgument, path, ": ", std::strerror(error));
    }
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(descriptor_);
      fail(Code::kInvalidArgument, path,
           S_ISDIR(status.st_mode) ? ": is a directory, expected a file" : ": is not a regular file");
    }
    size_ = status.st_size;
    refuse_git_lfs_pointer(path);
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  int64_t size() const { return size_; }

 private:
  // What a clone without git-lfs has in a large file's place.
  void refuse_git_lfs_pointer(const std::string& path) const {
    constexpr std::string_view kFirst = "version https://git-lfs.github.com/spec/";
    char first[kFirst.size()];
    if (pread(descriptor_, first, sizeof first, 0) != std::ssize(kFirst) || std::string_view(first, sizeof first) != kFirst)
      return;
    close(descriptor_);
    fail(Code::kCorruptData, path,
         ": is a Git LFS pointer instead of the file itself; `git lfs pull` in its repository fetches that");
  }

  int descriptor_ = -1;
  int64_t size_ = 0;
};

bool has_mode(const std::string& path, mode_t mode) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == mode;
}

}  // namespace

std::string join_path(const std::string& directory, std::string_view name) {
  bool inside = !name.empty() && name.front() != '/' && name.find('\0') == std::string_view::npos;
  for (size_t from = 0; from <= name.size() && inside;) {
    const size_t to = std::min(name.find('/', from), name.size());
    inside = name.substr(from, to - from) != "..";
    from = to + 1;
  }
  if (!inside) fail(Code::kCorruptData, directory, ": the path \"", name.substr(0, 200), "\" leaves the directory");
  return text(directory, directory.ends_with('/') ? "" : "/", name);
}

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}
bool is_directory(const std::string& path) { return has_mode(path, S_IFDIR); }

void require_directory(const std::string& path) {
  if (is_directory(path)) return;
  fail(has_mode(path, S_IFREG) ? Code::kInvalidArgument : Code::kNotFound, path, ": is not a directory");
}

std::string read_file(const std::string& path, int64_t limit) {
  const OpenFile file(path);
  if (file.size() > limit) fail(Code::kCorruptData, path, ": ", file.size(), " bytes, expected at most ", limit);
  std::string content(static_cast<size_t>(file.size()), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = read(file.descriptor(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Code::kCorruptData, path, ": ", std::strerror(errno));
    if (got == 0) break;  // the file became shorter
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const OpenFile file(path);
  size_ = static_cast<size_t>(file.size());
  if (size_ == 0) return;
  void* mapping = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (mapping == MAP_FAILED) fail(Code::kResourceExhausted, path, ": cannot be mapped: ", std::strerror(errno));
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(const void* from, int64_t size) const noexcept {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto low = (reinterpret_cast<uintptr_t>(from) + page - 1) / page * page;
  const auto high = (reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(size)) / page * page;
  if (low < high) madvise(reinterpret_cast<void*>(low), high - low, MADV_DONTNEED);
}

}  // namespace v0
}  // namespace saccade
