#include "runtime/model/tensor_reader.h"

#include <algorithm>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

// Gives the pages of a tensor back when the last weight that reads it is packed or gone. They come from the file when read again.
class Pages {
 public:
  Pages(std::shared_ptr<const MappedFile> file, const void* data, int64_t bytes)
      : file_(std::move(file)), data_(data), bytes_(bytes) {}
  ~Pages() { file_->release(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

 private:
  std::shared_ptr<const MappedFile> file_;
  const void* data_;
  int64_t bytes_;
};

std::string with_layer(std::string_view name, int64_t layer) {
  const size_t at = name.find('#');
  if (at == std::string_view::npos) return std::string(name);
  return text(name.substr(0, at), layer, name.substr(at + 1));
}

std::string join(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

Vector as_vector(const Tensor& tensor) { return {tensor.bytes.data(), float_dtype(tensor), element_count(tensor), tensor.name}; }

// Rows `part` * out and on of a tensor [parts * out, in].
Weight rows_of(const Tensor& tensor, int64_t part, int64_t in, int64_t out) {
  const Dtype dtype = float_dtype(tensor);
  const int64_t bytes = in * out * size_of(dtype);
  const std::byte* data = tensor.bytes.data() + part * bytes;
  return {data, dtype, in, out, Layout::kOutIn, 0, std::make_shared<Pages>(tensor.file, data, bytes), tensor.name};
}

Vector part_of(const Vector& whole, int64_t part, int64_t size) {
  return {static_cast<const std::byte*>(whole.data) + part * size * size_of(whole.dtype), whole.dtype, size, whole.name};
}

constexpr std::string_view kIndexBuffers[] = {"position_ids", "token_type_ids", "inv_freq"};

}  // namespace

std::vector<std::string> TensorReader::spellings(std::string_view names, int64_t layer, std::string_view suffixes) const {
  std::vector<std::string> all;
  each_part(names, [&](std::string_view name) {
    each_part(prefixes_, [&](std::string_view prefix) {
      each_part(suffixes, [&](std::string_view suffix) { all.push_back(text(prefix, with_layer(name, layer), suffix)); });
    });
  });
  return all;
}

const Tensor* TensorReader::find(std::span<const std::string> spellings) const {
  for (const std::string& name : spellings) {
    if (const Tensor* tensor = files_.find(name)) return tensor;
  }
  return nullptr;
}

const Tensor& TensorReader::read(std::span<const std::string> spellings, std::initializer_list<int64_t> shape) {
  const Tensor* tensor = find(spellings);
  if (tensor == nullptr) fail(Code::kNotFound, files_.path(), ": a tensor is missing; tried ", join(spellings));
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) {
    fail(Code::kCorruptData, tensor->file->path(), ": tensor '", tensor->name, "' has shape ", describe_shape(tensor->shape),
         ", expected ", describe_shape({shape.begin(), shape.size()}), " from config.json");
  }
  (void)float_dtype(*tensor);
  read_.insert(tensor);
  return *tensor;
}

bool TensorReader::has(std::string_view names, int64_t layer) const {
  return find(spellings(names, layer, ".weight")) != nullptr;
}

Linear TensorReader::linear(std::string_view names, int64_t layer, int64_t in, int64_t out, bool bias) {
  return {rows_of(read(spellings(names, layer, ".weight"), {out, in}), 0, in, out),
          bias ? as_vector(read(spellings(names, layer, ".bias"), {out})) : Vector()};
}

std::vector<Linear> TensorReader::linears(std::string_view fused, std::span<const std::string_view> parts, int64_t layer,
                                          int64_t in, int64_t out, bool bias) {
  std::vector<Linear> all;
  const auto count = static_cast<int64_t>(parts.size());
  const std::vector<std::string> whole = spellings(fused, layer, ".weight");
  if (find(whole) != nullptr) {
    const Tensor& weight = read(whole, {count * out, in});
    const Vector biases = bias ? as_vector(read(spellings(fused, layer, ".bias"), {count * out})) : Vector();
    for (int64_t i = 0; i < count; ++i) all.push_back({rows_of(weight, i, in, out), bias ? part_of(biases, i, out) : Vector()});
    return all;
  }
  for (const std::string_view part : parts) {
    std::vector<std::string> tried = spellings(part, layer, ".weight");
    if (find(tried) == nullptr) {
      tried.insert(tried.begin(), whole.begin(), whole.end());
      fail(Code::kNotFound, files_.path(), ": a tensor is missing; tried ", join(tried));
    }
    all.push_back(linear(part, layer, in, out, bias));
  }
  return all;
}

Norm TensorReader::norm(std::string_view names, int64_t layer, int64_t width, bool bias) {
  return {as_vector(read(spellings(names, layer, ".weight|.gamma"), {width})),
          bias ? as_vector(read(spellings(names, layer, ".bias|.beta"), {width})) : Vector()};
}

Table TensorReader::table(std::string_view names, int64_t rows, int64_t width) {
  const Tensor& tensor = read(spellings(names, 0, ".weight"), {rows, width});
  return {tensor.bytes.data(), float_dtype(tensor), rows, width, 0, tensor.file, tensor.name};
}

Vector TensorReader::vector(std::string_view names, int64_t size) { return as_vector(read(spellings(names, 0, ""), {size})); }

Weight TensorReader::tied(const Table& table) {
  return {table.data, table.dtype, table.width, table.rows, Layout::kOutIn, table.stride, table.owner, table.name};
}

int64_t TensorReader::parameters() const {
  int64_t count = 0;
  for (const Tensor* tensor : read_) count += element_count(*tensor);
  return count;
}

std::string TensorReader::dtype() const {
  std::string_view found;
  for (const Tensor* tensor : read_) {
    const std::string_view dtype = name(float_dtype(*tensor));
    if (!found.empty() && dtype != found) return "mixed";
    found = dtype;
  }
  return std::string(found);
}

std::vector<std::string> TensorReader::unused() const {
  std::vector<std::string> names;
  for (const Tensor& tensor : files_.tensors()) {
    const bool buffer = std::any_of(std::begin(kIndexBuffers), std::end(kIndexBuffers),
                                    [&](std::string_view suffix) { return tensor.name.ends_with(suffix); });
    if (!buffer && !read_.contains(&tensor)) names.push_back(tensor.name);
  }
  return names;
}

}  // namespace v0
}  // namespace saccade
