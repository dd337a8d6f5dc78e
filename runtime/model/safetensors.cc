#include "runtime/model/safetensors.h"

#include <algorithm>
#include <array>

#include "runtime/graph/check.h"
#include "runtime/model/json.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeader = 100'000'000;  // the limit of the format's own library
constexpr size_t kMaxRank = 64;              // of a shape; a longer one is no tensor
constexpr size_t kMaxShards = 10'000;

struct DtypeBits {
  std::string_view name;
  int64_t bits;
};
constexpr DtypeBits kDtypes[] = {
    {"F64", 64}, {"F32", 32},    {"F16", 16},    {"BF16", 16},   {"I64", 64},    {"I32", 32},    {"I16", 16},
    {"I8", 8},   {"U64", 64},    {"U32", 32},    {"U16", 16},    {"U8", 8},      {"BOOL", 8},    {"C64", 64},
    {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
};

// The length in the first 8 bytes, checked against the file.
int64_t header_length(const std::string& path, std::span<const std::byte> file) {
  const auto byte = [&](size_t i) { return i < file.size() ? std::to_integer<unsigned>(file[i]) : 0u; };
  const bool zip = byte(0) == 'P' && byte(1) == 'K' && byte(2) == 3 && byte(3) == 4;
  const bool pickle = byte(0) == 0x80 && byte(1) >= 2 && byte(1) <= 5;
  if ((zip || pickle) && byte(8) != '{') {  // these bytes may be a length, too
    fail(Code::kUnsupported, path, ": is a PyTorch file (", zip ? "zip archive" : "pickle",
         "), not safetensors; save the model with safetensors and use that");
  }
  if (static_cast<int64_t>(file.size()) < kLengthBytes) {
    fail(Code::kCorruptData, path, ": ", file.size(), " bytes, expected at least the ", kLengthBytes, " of the header's length");
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= uint64_t{byte(i)} << (8 * i);
  if (length > kMaxHeader) fail(Code::kCorruptData, path, ": header of ", length, " bytes, expected at most ", kMaxHeader);
  const uint64_t rest = file.size() - kLengthBytes;
  if (length > rest) {
    fail(Code::kCorruptData, path, ": header of ", length, " bytes, but only ", rest, " bytes follow its length");
  }
  return static_cast<int64_t>(length);
}

// Bytes of so many elements, or false when the number does not fit or ends within a byte.
bool byte_size(std::span<const int64_t> shape, int64_t bits, int64_t& bytes) {
  int64_t total = bits;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    bytes = 0;
    return true;
  }
  for (const int64_t size : shape) {
    if (!multiply(total, size, total)) return false;
  }
  bytes = total / 8;
  return total % 8 == 0;
}

Tensor parse_tensor(const std::string& path, std::string_view name, const Json& entry, std::span<const std::byte> data) {
  const auto wrong = [&](const auto&... parts) {
    fail(Code::kCorruptData, path, ": tensor '", name.substr(0, 200), "': ", parts...);
  };
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = entry.at("dtype").string();
  const auto dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const auto& d) { return d.name == tensor.dtype; });
  if (dtype == std::end(kDtypes)) wrong("dtype \"", tensor.dtype.substr(0, 40), "\" is not known");
  const std::vector<Json> shape = entry.at("shape").elements();
  if (shape.size() > kMaxRank) wrong("shape of ", shape.size(), " dimensions, expected at most ", kMaxRank);
  for (const Json& size : shape) tensor.shape.push_back(size.integer(0, INT64_MAX));
  const std::vector<Json> offsets = entry.at("data_offsets").elements();
  if (offsets.size() != 2) wrong("data_offsets of ", offsets.size(), " numbers, expected 2");
  const int64_t begin = offsets[0].integer(0, INT64_MAX), end = offsets[1].integer(0, INT64_MAX);
  if (begin > end) wrong("data_offsets [", begin, ", ", end, "] run backwards");
  if (end > static_cast<int64_t>(data.size()))
    wrong("data_offsets end at ", end, ", but the file holds ", data.size(), " bytes of data");
  int64_t bytes = 0;
  if (!byte_size(tensor.shape, dtype->bits, bytes)) {
    wrong("shape ", describe_shape(tensor.shape), " of ", tensor.dtype, " is no number of bytes");
  }
  if (bytes != end - begin) {
    wrong("data_offsets [", begin, ", ", end, "] hold ", end - begin, " bytes, but shape ", describe_shape(tensor.shape), " of ",
          tensor.dtype, " takes ", bytes);
  }
  tensor.bytes = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(bytes));
  return tensor;
}

// Fails unless the tensors, one after the other, are all of the data.
void check_coverage(const std::string& path, std::span<const Tensor> tensors, std::span<const std::byte> data) {
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  const auto begin = [&](const Tensor& tensor) { return tensor.bytes.data() - data.data(); };
  std::sort(order.begin(), order.end(), [&](const Tensor* a, const Tensor* b) {
    return std::pair(begin(*a), a->bytes.size()) < std::pair(begin(*b), b->bytes.size());
  });
  int64_t end = 0;
  for (const Tensor* tensor : order) {
    const int64_t from = begin(*tensor);
    if (from != end) {
      fail(Code::kCorruptData, path, ": tensor '", tensor->name.substr(0, 200), "' begins at ", from, ", expected ", end,
           from < end ? ": it overlaps the one before" : ": bytes between belong to no tensor");
    }
    end += static_cast<int64_t>(tensor->bytes.size());
  }
  if (end != static_cast<int64_t>(data.size())) {
    fail(Code::kCorruptData, path, ": ", data.size(), " bytes of data, but the tensors end at ", end);
  }
}

}  // namespace

std::string describe_shape(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += text(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

int64_t element_count(const Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  return count;
}

Dtype float_dtype(const Tensor& tensor) {
  if (tensor.dtype == "F32") return Dtype::kF32;
  if (tensor.dtype == "F16") return Dtype::kF16;
  if (tensor.dtype == "BF16") return Dtype::kBf16;
  fail(Code::kUnsupported, tensor.file ? tensor.file->path() : std::string(), ": tensor '", tensor.name, "' has dtype ",
       tensor.dtype, ", expected F32, F16 or BF16");
}

std::vector<Tensor> parse_safetensors(const std::string& path, std::span<const std::byte> file) {
  const int64_t length = header_length(path, file);
  const auto header = file.subspan(kLengthBytes, static_cast<size_t>(length));
  const auto data = file.subspan(static_cast<size_t>(kLengthBytes + length));
  const JsonDocument document(path, {reinterpret_cast<const char*>(header.data()), header.size()});
  std::vector<Tensor> tensors;
  for (const auto& [name, entry] : document.root().members()) {
    if (name == "__metadata__") continue;
    if (!entry) fail(Code::kCorruptData, path, ": tensor '", name.substr(0, 200), "': expected an object, found null");
    tensors.push_back(parse_tensor(path, name, entry, data));
  }
  check_coverage(path, tensors, data);
  return tensors;
}

TensorFiles::TensorFiles(const std::string& directory) {
  path_ = join_path(directory, "model.safetensors");
  if (exists(path_)) {
    add(path_);
    return;
  }
  path_ = join_path(directory, "model.safetensors.index.json");
  if (exists(path_)) {
    read_shards(directory);
    return;
  }
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"}) {
    if (!exists(join_path(directory, other))) continue;
    fail(Code::kUnsupported, directory, ": has ", other,
         " but no model.safetensors; only safetensors is read (save_pretrained of a current transformers writes it)");
  }
  fail(Code::kNotFound, directory, ": has neither model.safetensors nor model.safetensors.index.json");
}

void TensorFiles::read_shards(const std::string& directory) {
  const JsonDocument document = JsonDocument::read(path_);
  const auto map = document.root().at("weight_map").members();
  std::vector<std::string> shards;
  for (const auto& [name, shard] : map) {
    if (!shard) fail(Code::kCorruptData, path_, ": weight_map: tensor '", name.substr(0, 200), "' has no file");
    shards.emplace_back(shard.string());
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  if (shards.size() > kMaxShards) {
    fail(Code::kCorruptData, path_, ": weight_map names ", shards.size(), " files, expected at most ", kMaxShards);
  }
  for (const std::string& shard : shards) add(join_path(directory, shard));
  for (const auto& [name, shard] : map) {
    const Tensor* tensor = find(name);
    const std::string file = join_path(directory, shard.string());
    if (tensor == nullptr || tensor->file->path() != file) {
      fail(Code::kCorruptData, path_, ": weight_map: tensor '", name.substr(0, 200), "' is not in ", shard.string());
    }
  }
}

void TensorFiles::add(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  for (Tensor& tensor : parse_safetensors(path, file->bytes())) {
    tensor.file = file;
    if (const Tensor* other = find(tensor.name); other != nullptr) {
      fail(Code::kCorruptData, path, ": tensor '", tensor.name.substr(0, 200), "' is in ", other->file->path(), " too");
    }
    index_.emplace(tensor.name, tensors_.size());
    tensors_.push_back(std::move(tensor));
  }
}

const Tensor* TensorFiles::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace v0
}  // namespace saccade
