#include "tools/model.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tools/console.h"

namespace saccade::tool {
namespace {

constexpr size_t kLongestLine = size_t{16} << 20;  // bytes; no text is longer, and a file without line ends must not fill memory

// A Status of the model's files is exit code 4; of memory, a failure like any other.
template <class T>
T take_model(Result<T> result) {
  if (result.ok() || result.status().code() == Code::kResourceExhausted) return take(std::move(result));
  throw Failure(kModelUnusable, printable(result.status().to_string(), 2000));
}

struct PoolingName {
  const char* name;
  Pooling pooling;
};
constexpr PoolingName kPoolings[] = {
    {"mean", Pooling::kMean}, {"cls", Pooling::kFirst}, {"last", Pooling::kLast}, {"max", Pooling::kMax}};

}  // namespace

Encoder load_encoder(const ModelOptions& options, const Setup& setup) {
  const Progress progress("loading the model");
  return take_model(Encoder::load(options.model, {.isa = setup.isa, .threads = setup.threads, .executor = setup.executor}));
}

Tokenizer load_tokenizer(const ModelOptions& options) { return take_model(Tokenizer::load(options.model)); }

EncodeOptions encode_options(const EncodeTextOptions& options) {
  EncodeOptions result;
  for (const auto& [name, pooling] : kPoolings) {
    if (options.pooling == name) result.pooling = pooling;
  }
  if (options.normalize >= 0) result.normalize = options.normalize != 0;
  constexpr std::string_view kText = "text:";
  if (options.prompt.starts_with(kText)) {
    result.prompt = options.prompt.substr(kText.size());
  } else if (!options.prompt.empty()) {
    result.prompt_name = options.prompt;
  }
  result.truncate = options.truncate;
  if (options.max_batch_tokens > 0) result.max_batch_tokens = options.max_batch_tokens;
  result.stop = &stop_flag();
  return result;
}

TextReader::TextReader(const TextOptions& options)
    : name_(options.file == "-" ? "standard input" : printable(options.file)), field_(options.field) {
  descriptor_ = options.file == "-" ? STDIN_FILENO : open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    throw Failure(kFailure, fmt::format("{}: {}", name_, std::strerror(errno)));
  }
  if (S_ISREG(status.st_mode)) size_ = status.st_size;
  if (isatty(descriptor_) != 0) fmt::print(stderr, "saccade: reading texts from the terminal, one a line; Ctrl-D ends\n");
}

TextReader::~TextReader() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

// More bytes at the end of the buffer; false at the end of the input.
bool TextReader::fill() {
  constexpr size_t kBlock = size_t{64} << 10;
  buffer_.erase(0, at_);
  at_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kBlock);
  for (;;) {
    throw_if_interrupted();
    pollfd waiting = {descriptor_, POLLIN, 0};
    if (poll(&waiting, 1, 200) <= 0) continue;  // wakes up to look for SIGINT, which a read would sleep through
    const ssize_t got = read(descriptor_, buffer_.data() + before, kBlock);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw Failure(kFailure, fmt::format("{}: {}", name_, std::strerror(errno)));
    buffer_.resize(before + static_cast<size_t>(got));
    return got > 0;
  }
}

bool TextReader::next_line(std::string& line) {
  size_t searched = at_, end = buffer_.find('\n', searched);
  while (end == std::string::npos) {
    searched = buffer_.size() - at_;  // where the new bytes will begin, once what is used is gone
    if (searched > kLongestLine) {
      throw Failure(kFailure, fmt::format("{}: line {} is longer than {} bytes", name_, lines_ + 1, kLongestLine));
    }
    if (!fill()) {
      if (buffer_.empty()) return false;
      buffer_ += '\n';  // of the last line
    }
    end = buffer_.find('\n', searched);
  }
  line.assign(buffer_, at_, end - at_);
  bytes_ += static_cast<int64_t>(end + 1 - at_);
  at_ = end + 1;
  ++lines_;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::string TextReader::field_of(const std::string& line) const {
  const auto wrong = [&](const std::string& what) {
    return Failure(kFailure, fmt::format("{}: line {}: {}", name_, lines_, what));
  };
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) throw wrong("is no JSON object");
  const auto member = object.find(field_);
  if (member == object.end()) throw wrong(fmt::format("has no field \"{}\"", printable(field_, 60)));
  if (!member->is_string()) throw wrong(fmt::format("the field \"{}\" is no string", printable(field_, 60)));
  return member->get<std::string>();
}

bool TextReader::next(std::string& text) {
  if (!next_line(text)) return false;
  if (!field_.empty()) text = field_of(text);
  return true;
}

std::vector<std::string> TextReader::all(size_t most) {
  std::vector<std::string> texts;
  for (std::string text; texts.size() < most && next(text);) texts.push_back(text);
  if (texts.empty()) throw Failure(kFailure, name_ + ": holds no text");
  return texts;
}

bool TextReader::reads(const std::string& path) const {
  struct stat mine {
  }, other{};
  return fstat(descriptor_, &mine) == 0 && stat(path.c_str(), &other) == 0 && S_ISREG(mine.st_mode) &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

std::string about_one_text(const Status& status) {
  constexpr std::string_view kNumber = "encode: text 0: ";
  const std::string message = status.message();
  const size_t at = message.find(kNumber);
  return printable(at == std::string::npos ? message : message.substr(at + kNumber.size()), 2000);
}

void fail_at_line(const TextReader& reader, int64_t first_line, size_t count, const std::function<Status(size_t)>& alone) {
  for (size_t i = 0; i < count; ++i) {
    const Status status = alone(i);
    if (status.ok() || status.code() == Code::kCancelled) continue;
    const int64_t line = first_line + static_cast<int64_t>(i) + 1;
    throw Failure(kFailure, fmt::format("{}: line {}: {}", reader.name(), line, about_one_text(status)));
  }
}

const char* pooling_name(Pooling pooling) {
  for (const auto& [name, value] : kPoolings) {
    if (value == pooling) return name;
  }
  return "";
}

const char* head_name(Head head) {
  switch (head) {
    case Head::kNone:
      return "none";
    case Head::kSequenceClassification:
      return "sequence classification";
    case Head::kTokenClassification:
      return "token classification";
    case Head::kMaskedLm:
      return "masked language model";
  }
  return "";
}

}  // namespace saccade::tool
