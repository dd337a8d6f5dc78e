// Weights of a model directory in the safetensors format: the length of the header as 8 bytes, little-endian, a JSON object
// {name: {dtype, shape, data_offsets: [begin, end]}, "__metadata__": {...}}, then the data, which the offsets count from. A file
// is read where it is mapped, once its header has been found to describe all of it and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/model/files.h"
#include "saccade/tensor.h"

namespace saccade {
inline namespace v0 {

struct Tensor {
  std::string name;
  std::string dtype;  // as the file says: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;
};

std::string describe_shape(std::span<const int64_t> shape);  // "[2, 3]"
int64_t element_count(const Tensor& tensor);
// The dtype of a tensor of weights: unsupported, with the names of file and tensor, unless F32, F16 or BF16.
Dtype float_dtype(const Tensor& tensor);

// The tensors of one file that is in memory, without `file`; `path` is for messages. corrupt_data when the header contradicts
// itself or the file: sizes, overlaps, holes, keys that occur twice.
std::vector<Tensor> parse_safetensors(const std::string& path, std::span<const std::byte> file);

// All tensors of a directory: model.safetensors, else the shards that model.safetensors.index.json names. Other formats are
// refused with a hint.
class TensorFiles {
 public:
  explicit TensorFiles(const std::string& directory);
  const Tensor* find(std::string_view name) const;  // null when there is none
  std::span<const Tensor> tensors() const { return tensors_; }
  const std::string& path() const { return path_; }  // of the single file or the index, for messages

 private:
  void read_shards(const std::string& directory);
  void add(const std::string& path);

  std::string path_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, size_t> index_;  // name -> place in tensors_
};

}  // namespace v0
}  // namespace saccade
