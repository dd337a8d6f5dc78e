// Files of weights: what is read, and that each way in which a file can be wrong is told apart, by code and by the values named.
#include "runtime/model/safetensors.h"

#include <gtest/gtest.h>

#include "runtime/graph/check.h"
#include "runtime/model/tensor_reader.h"
#include "tests/model/model_files.h"

namespace saccade::test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

struct BadFile {
  const char* what;
  std::string content;
  Code code;
  std::vector<std::string> parts;  // of the message
};

void expect_refused(const BadFile& bad, const Status& status) {
  EXPECT_EQ(status.code(), bad.code) << bad.what << ": " << status.to_string();
  for (const std::string& part : bad.parts) {
    EXPECT_NE(status.message().find(part), std::string::npos) << bad.what << ": " << part << " in " << status.message();
  }
}

// A header of one tensor "a" with these three values, written as JSON.
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, ReadsTensors) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
      R"("none":{"dtype":"F32","shape":[4,0],"data_offsets":[8,8]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("one":{"dtype":"I64","shape":[],"data_offsets":[12,20]}}   )";
  const std::string file = safetensors(header, "ABCDEFGHIJKLmnopqrst");
  const auto tensors = parse_safetensors("f", bytes_of(file));
  ASSERT_EQ(tensors.size(), 4u);
  std::map<std::string, const Tensor*> by_name;
  for (const Tensor& tensor : tensors) by_name[tensor.name] = &tensor;
  EXPECT_EQ(describe_shape(by_name.at("a")->shape), "[1, 2]");
  EXPECT_EQ(std::to_integer<char>(by_name.at("b")->bytes[0]), 'I');
  EXPECT_EQ(float_dtype(*by_name.at("b")), Dtype::kBf16);
  EXPECT_EQ(element_count(*by_name.at("none")), 0);
  EXPECT_EQ(element_count(*by_name.at("one")), 1);
  EXPECT_EQ(by_name.at("one")->bytes.size(), 8u);
}

TEST(Safetensors, WrongFilesAreToldApart) {
  const std::string good = safetensors(entry(R"("F32")", "[2]", "[0,8]"), "12345678");
  ASSERT_EQ(caught([&] { (void)parse_safetensors("f", bytes_of(good)); }).to_string(), Status().to_string());
  const auto made = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return safetensors(entry(dtype, shape, offsets), "12345678");
  };
  const auto length = [](uint64_t value) {
    std::string out(8, '\0');
    std::memcpy(out.data(), &value, 8);
    return out;
  };
  const std::string two = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":)";
  const BadFile cases[] = {
      {"empty", "", Code::kCorruptData, {"f: 0 bytes", "8"}},
      {"shorter than a length", "1234", Code::kCorruptData, {"4 bytes"}},
      {"header of 2^63 bytes", length(uint64_t{1} << 63) + "{}", Code::kCorruptData, {"9223372036854775808", "100000000"}},
      {"header over the limit", length(100'000'001) + "{}", Code::kCorruptData, {"100000001", "100000000"}},
      {"header longer than the file", length(40) + "{}", Code::kCorruptData, {"40 bytes", "only 2 bytes"}},
      {"header of 0 bytes", length(0), Code::kCorruptData, {"not valid JSON"}},
      {"pickle", std::string("\x80\x02}q\0(X\5\0\0\0x", 13), Code::kUnsupported, {"pickle", "safetensors"}},
      {"zip", std::string("PK\3\4\0\0\0\0\0\0\0", 11), Code::kUnsupported, {"zip", "safetensors"}},
      {"no JSON", safetensors("{\"a\":", ""), Code::kCorruptData, {"f: not valid JSON"}},
      {"no UTF-8", safetensors("{\"\xff\":1}", ""), Code::kCorruptData, {"f: not valid JSON"}},
      {"no object", safetensors("[]", ""), Code::kCorruptData, {"an object", "an array"}},
      {"tensor of no object", safetensors("{\"a\":3}", ""), Code::kCorruptData, {"f: a", "an object", "3"}},
      {"null tensor", safetensors("{\"a\":null}", ""), Code::kCorruptData, {"'a'", "null"}},
      {"key twice",
       safetensors(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}})", ""),
       Code::kCorruptData,
       {"\"a\" occurs twice"}},
      {"no dtype",
       safetensors(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "12345678"),
       Code::kCorruptData,
       {"f: a", "\"dtype\" is missing"}},
      {"unknown dtype", made(R"("F33")", "[2]", "[0,8]"), Code::kCorruptData, {"'a'", "\"F33\""}},
      {"dtype of no string", made("7", "[2]", "[0,8]"), Code::kCorruptData, {"f: a.dtype", "a string", "7"}},
      {"negative size", made(R"("F32")", "[-2]", "[0,8]"), Code::kCorruptData, {"f: a.shape[0]", "-2"}},
      {"half a size", made(R"("F32")", "[2.5]", "[0,8]"), Code::kCorruptData, {"f: a.shape[0]", "2.5"}},
      {"shape that overflows",
       made(R"("F32")", "[4294967296,4294967296,4294967296]", "[0,8]"),
       Code::kCorruptData,
       {"[4294967296, "}},
      {"no offsets", made(R"("F32")", "[2]", "[]"), Code::kCorruptData, {"'a'", "0 numbers"}},
      {"one offset", made(R"("F32")", "[2]", "[8]"), Code::kCorruptData, {"'a'", "1 numbers"}},
      {"offsets backwards", made(R"("F32")", "[2]", "[8,4]"), Code::kCorruptData, {"'a'", "[8, 4]", "backwards"}},
      {"negative offset", made(R"("F32")", "[2]", "[-1,4]"), Code::kCorruptData, {"a.data_offsets[0]", "-1"}},
      {"beyond the file", made(R"("F32")", "[4]", "[0,16]"), Code::kCorruptData, {"'a'", "end at 16", "8 bytes"}},
      {"size of another shape", made(R"("F32")", "[3]", "[0,8]"), Code::kCorruptData, {"'a'", "8 bytes", "[3]", "12"}},
      {"size of another dtype", made(R"("F64")", "[2]", "[0,8]"), Code::kCorruptData, {"'a'", "F64", "16"}},
      {"half a byte", made(R"("F4")", "[3]", "[0,2]"), Code::kCorruptData, {"'a'", "[3]", "F4"}},
      {"overlap", safetensors(two + "[2,6]}}", "123456"), Code::kCorruptData, {"'b'", "begins at 2", "expected 4", "overlaps"}},
      {"hole", safetensors(two + "[5,9]}}", "123456789"), Code::kCorruptData, {"'b'", "begins at 5", "expected 4", "no tensor"}},
      {"bytes after the last", safetensors(two + "[4,8]}}", "123456789"), Code::kCorruptData, {"9 bytes", "end at 8"}},
      {"last byte cut", safetensors(two + "[4,8]}}", "1234567"), Code::kCorruptData, {"'b'", "end at 8", "7 bytes"}},
  };
  for (const BadFile& bad : cases) {
    expect_refused(bad, caught([&] { (void)parse_safetensors("f", bytes_of(bad.content)); }));
  }
}

TEST(Safetensors, DtypesOfOtherNumbers) {
  for (const char* dtype : {"F64", "I64", "I8", "BOOL", "F8_E4M3"}) {
    const Tensor tensor{"a", dtype, {1}, {}, nullptr};
    expect_refused({dtype, "", Code::kUnsupported, {"'a'", dtype, "F32, F16 or BF16"}},
                   caught([&] { (void)float_dtype(tensor); }));
  }
}

Status open(const Folder& folder) {
  return caught([&] { (void)TensorFiles(folder.path()); });
}

TEST(Safetensors, DirectoriesWithoutIt) {
  const Folder folder;
  expect_refused({"nothing", "", Code::kNotFound, {folder.path(), "model.safetensors.index.json"}}, open(folder));
  write_bytes(folder / "pytorch_model.bin", "PK");
  expect_refused({"pickle alone", "", Code::kUnsupported, {"pytorch_model.bin", "only safetensors"}}, open(folder));
  write_bytes(folder / "model.safetensors", std::string("PK\3\4\0\0\0\0\0\0\0", 11));
  expect_refused({"pickle in disguise", "", Code::kUnsupported, {"model.safetensors", "zip"}}, open(folder));
  std::filesystem::remove(folder / "model.safetensors");
  std::filesystem::create_directory(folder / "model.safetensors");
  expect_refused({"directory", "", Code::kInvalidArgument, {"model.safetensors", "is a directory"}}, open(folder));
}

TEST(Safetensors, ShardsAreChecked) {
  const Folder folder;
  const RawTensor four{"U8", {4}, "1234"};
  const auto index = [&](const std::string& map) {
    write_bytes(folder / "model.safetensors.index.json", R"({"weight_map":)" + map + "}");
  };
  write_tensors(folder / "1.safetensors", {{"a", four}});
  write_tensors(folder / "2.safetensors", {{"b", four}});
  index(R"({"a":"1.safetensors","b":"2.safetensors"})");
  const TensorFiles files(folder.path());
  EXPECT_EQ(files.tensors().size(), 2u);
  EXPECT_EQ(files.find("b")->file->path(), folder / "2.safetensors");
  EXPECT_EQ(files.find("c"), nullptr);

  index(R"({"a":"1.safetensors","b":"3.safetensors"})");
  expect_refused({"missing shard", "", Code::kNotFound, {"3.safetensors"}}, open(folder));
  index(R"({"a":"1.safetensors","b":"1.safetensors"})");
  expect_refused({"tensor not there", "", Code::kCorruptData, {"index.json", "'b'", "not in 1.safetensors"}}, open(folder));
  index(R"({"a":"1.safetensors","b":"../2.safetensors"})");
  expect_refused({"outside", "", Code::kCorruptData, {"../2.safetensors", "leaves the directory"}}, open(folder));
  index(R"({"a":"1.safetensors","b":null})");
  expect_refused({"no shard", "", Code::kCorruptData, {"'b'", "no file"}}, open(folder));
  index(R"(["a"])");
  expect_refused({"map of no object", "", Code::kCorruptData, {"weight_map", "an object"}}, open(folder));
  write_tensors(folder / "2.safetensors", {{"a", four}, {"b", four}});
  index(R"({"a":"1.safetensors","b":"2.safetensors"})");
  expect_refused({"tensor in two shards", "", Code::kCorruptData, {"'a'", "1.safetensors", "2.safetensors"}}, open(folder));
}

// Bytes of the file's mappings that are in memory.
int64_t resident(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool ours = false;
  int64_t total = 0;
  while (std::getline(maps, line)) {
    if (line.find('-') < 20 && line.find(" r") != std::string::npos) ours = line.ends_with(path);
    if (ours && line.starts_with("Rss:")) total += std::stoll(line.substr(4)) * 1024;
  }
  return total;
}

TEST(TensorReader, PagesGoWithTheOwnerOfAWeight) {
  const Folder folder;
  constexpr int64_t kOut = 3 * 512, kIn = 1024;
  const std::string path = folder / "model.safetensors";
  write_tensors(path, {{"qkv.weight", {"F32", {kOut, kIn}, std::string(kOut * kIn * 4, 'x')}},
                       {"words.weight", {"F32", {512, kIn}, std::string(512 * kIn * 4, 'y')}}});
  const TensorFiles files(folder.path());
  TensorReader tensors(files, "");
  const std::string_view parts[] = {"q", "k", "v"};
  auto linears = tensors.linears("qkv", parts, 0, kIn, 512, false);
  const Table words = tensors.table("words", 512, kIn);
  for (const Tensor& tensor : files.tensors()) {
    int64_t sum = 0;
    for (const std::byte byte : tensor.bytes) sum += std::to_integer<int64_t>(byte);
    EXPECT_EQ(sum, static_cast<int64_t>(tensor.bytes.size()) * (tensor.name == "words.weight" ? 'y' : 'x'));
  }
  constexpr int64_t kPart = 512 * kIn * 4, kPages = 2 * 65536;  // a fault maps 64 KiB around
  EXPECT_GE(resident(path), 4 * kPart);
  linears.erase(linears.begin() + 1);
  EXPECT_LE(resident(path), 3 * kPart + kPages);
  EXPECT_EQ(static_cast<const char*>(linears[1].weight.data)[0], 'x');
  linears.clear();
  EXPECT_LE(resident(path), kPart + kPages);
  EXPECT_GE(resident(path), kPart - kPages);  // the table keeps its own
}

}  // namespace
}  // namespace saccade::test
