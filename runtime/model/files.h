// Files of a model directory. Every byte is hostile: sizes are checked before anything is allocated or read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace saccade {
inline namespace v0 {

// directory + "/" + name. A name that is absolute or leaves the directory (from an index or modules.json) is refused.
std::string join_path(const std::string& directory, std::string_view name);
// Whether the name is there, be it a folder, a pipe or a link to nothing: what cannot be read is an error and not a missing file.
bool exists(const std::string& path);
bool is_directory(const std::string& path);
void require_directory(const std::string& path);  // else not_found, or invalid_argument for a file

// The whole file, at most `limit` bytes. not_found when it is not there; invalid_argument for a directory; corrupt_data when
// larger.
std::string read_file(const std::string& path, int64_t limit);

// A file mapped read-only. Pages that are not needed again may be given back; they come from the file when read again.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  void release(const void* from, int64_t size) const noexcept;  // whole pages inside the range

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace v0
}  // namespace saccade
