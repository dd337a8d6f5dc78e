#include "runtime/model/tokenizer/sentencepiece.h"

#include <bit>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

// The fields of one message, one after the other. Groups (wire types 3 and 4) are not in use.
class Fields {
 public:
  Fields(std::string_view bytes, const std::string& file, const char* message) : bytes_(bytes), file_(file), message_(message) {}

  // Moves to the next field; false at the end.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const uint64_t tag = varint();
    number_ = tag >> 3;
    type_ = static_cast<int>(tag & 7);
    value_ = 0;
    content_ = {};
    switch (type_) {
      case 0:
        value_ = varint();
        break;
      case 1:
        content_ = take(8);
        break;
      case 2:
        content_ = take(varint());
        break;
      case 5:
        content_ = take(4);
        break;
      default:
        wrong("wire type ", type_);
    }
    return true;
  }

  uint64_t number() const { return number_; }
  int64_t integer() const {
    if (type_ != 0) wrong("expected a number, found wire type ", type_);
    return static_cast<int64_t>(value_);
  }
  std::string_view content() const {
    if (type_ != 2) wrong("expected bytes, found wire type ", type_);
    return content_;
  }
  float number32() const {
    if (type_ != 5) wrong("expected a float, found wire type ", type_);
    uint32_t bits = 0;
    for (size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(content_[i]);
    return std::bit_cast<float>(bits);
  }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(Code::kCorruptData, file_, ": ", message_, ": field ", static_cast<int64_t>(number_), ": ", parts...);
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    wrong("a number of more than 10 bytes");
  }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) wrong("needs ", static_cast<int64_t>(size), " bytes, ", bytes_.size() - at_, " are left");
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  std::string_view bytes_, content_;
  const std::string& file_;
  const char* message_;
  size_t at_ = 0;
  uint64_t number_ = 0, value_ = 0;
  int type_ = 0;
};

}  // namespace

SentencePieceModel parse_sentencepiece(std::string_view bytes, const std::string& file) {
  SentencePieceModel model;
  Fields fields(bytes, file, "ModelProto");
  while (fields.next()) {
    if (fields.number() == 1) {
      auto& piece = model.pieces.emplace_back();
      Fields inside(fields.content(), file, "SentencePiece");
      while (inside.next()) {
        if (inside.number() == 1) piece.text = inside.content();
        if (inside.number() == 2) piece.score = inside.number32();
      }
      if (!well_formed(piece.text)) fail(Code::kCorruptData, file, ": piece ", model.pieces.size() - 1, ": expected UTF-8");
      if (!(piece.score > -1e30f && piece.score < 1e30f)) {
        fail(Code::kCorruptData, file, ": piece ", model.pieces.size() - 1, ": the score ", piece.score, " is not finite");
      }
    } else if (fields.number() == 2) {
      Fields inside(fields.content(), file, "TrainerSpec");
      while (inside.next()) {
        if (inside.number() == 3) model.model_type = inside.integer();
        if (inside.number() == 24) model.whitespace_as_suffix = inside.integer() != 0;
        if (inside.number() == 35) model.byte_fallback = inside.integer() != 0;
      }
    } else if (fields.number() == 3) {
      Fields inside(fields.content(), file, "NormalizerSpec");
      while (inside.next()) {
        if (inside.number() == 2) model.charsmap = inside.content();
        if (inside.number() == 3) model.add_dummy_prefix = inside.integer() != 0;
        if (inside.number() == 4) model.remove_extra_whitespaces = inside.integer() != 0;
      }
    }
  }
  return model;
}

}  // namespace v0
}  // namespace saccade
