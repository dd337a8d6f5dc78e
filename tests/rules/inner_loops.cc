// Checks the inner loops of matmul and attention in a disassembly (`objdump -dC --no-show-raw-insn` of one ISA's object):
//   inner_loops ISA DUMP
// matmul_tile<Arch, R, P> must do R * P * nr / vector FMAs per k, score_tile<Arch, R> and value_tile<Arch, R> R * 2 (a loop that the
// compiler unrolled holds a multiple), without a separate multiply or add but on SSE2, and without touching the stack.
// An inner loop is the range of a backward jump that holds no other backward jump; those without multiplications are of no interest.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

struct Isa {
  const char* name;
  int rows, panel_vectors;  // matmul's tile
  int attention_rows;       // attention's, always two vectors wide
  bool fma;
};
constexpr Isa kIsas[] = {
    {"sse2", 4, 2, 4, false},
    {"avx2", 6, 2, 6, true},
    {"avx512", 14, 2, 14, true},
    {"neon", 8, 3, 8, true},
};

struct Instruction {
  uint64_t address;
  std::string mnemonic, operands;
};
struct Function {
  std::string name;
  std::vector<Instruction> code;
};

std::vector<Function> read_dump(const char* path) {
  static const std::regex head("^[0-9a-f]+ <(.*)>:$");
  static const std::regex line("^ *([0-9a-f]+):\\s+(\\S+)\\s*(.*)$");
  std::vector<Function> functions;
  std::ifstream file(path);
  std::smatch match;
  for (std::string text; std::getline(file, text);) {
    if (std::regex_match(text, match, head)) {
      functions.push_back({match[1], {}});
    } else if (!functions.empty() && std::regex_match(text, match, line)) {
      functions.back().code.push_back({std::stoull(match[1], nullptr, 16), match[2], match[3]});
    }
  }
  return functions;
}

bool matches(const std::string& text, const char* pattern) { return std::regex_search(text, std::regex(pattern)); }

bool is_fma(const Instruction& i) { return matches(i.mnemonic, "^(vfn?madd(132|213|231)ps|fml[as])$"); }
bool is_multiply(const Instruction& i) {
  return matches(i.mnemonic, "^v?mulps$") || (i.mnemonic == "fmul" && matches(i.operands, "^v"));
}
bool is_add(const Instruction& i) {
  return matches(i.mnemonic, "^v?addps$") || (i.mnemonic == "fadd" && matches(i.operands, "^v"));
}

// Whether it is a jump to an address, and which.
bool is_jump(const Instruction& i, uint64_t& to) {
  static const std::regex target("(^|, *)([0-9a-f]+) <");
  std::smatch match;
  if (!matches(i.mnemonic, "^(j[a-z]+|b|b\\.[a-z]+|cbn?z|tbn?z)$") || !std::regex_search(i.operands, match, target)) return false;
  to = std::stoull(match[2], nullptr, 16);
  return true;
}

struct Range {
  size_t first, last;  // instructions
};

std::vector<Range> inner_loops(const std::vector<Instruction>& code) {
  std::vector<Range> loops;
  for (size_t last = 0; last < code.size(); ++last) {
    uint64_t target;
    if (!is_jump(code[last], target) || target > code[last].address || target < code.front().address) continue;
    size_t first = last;
    while (first > 0 && code[first].address > target) --first;
    loops.push_back({first, last});
  }
  std::vector<Range> inner;
  for (const Range& loop : loops) {
    bool holds_another = false;
    for (const Range& other : loops) {
      const bool same = other.first == loop.first && other.last == loop.last;
      holds_another |= !same && other.first >= loop.first && other.last <= loop.last;
    }
    if (!holds_another) inner.push_back(loop);
  }
  return inner;
}

// Whether rbp or x29 points into the stack, or is one more register.
bool has_frame_pointer(const std::vector<Instruction>& code) {
  for (const Instruction& i : code) {
    if (i.mnemonic == "mov" && matches(i.operands, "^(%rsp,%rbp|x29, sp)$")) return true;
  }
  return false;
}

int errors = 0;
void error(const Function& function, const Range& loop, const std::string& what) {
  std::printf("error: %s, loop at %llx: %s\n", function.name.c_str(),
              static_cast<unsigned long long>(function.code[loop.first].address), what.c_str());
  ++errors;
}

// Checks the loops of one function against the FMAs of one step; returns how many loops hold multiplications.
int check(const Function& function, const Isa& isa, int per_step) {
  const bool frame_pointer = has_frame_pointer(function.code);
  int found = 0;
  for (const Range& loop : inner_loops(function.code)) {
    int fmas = 0, multiplies = 0, adds = 0;
    bool stack = false;
    for (size_t n = loop.first; n <= loop.last; ++n) {
      const Instruction& i = function.code[n];
      fmas += is_fma(i);
      multiplies += is_multiply(i);
      adds += is_add(i);
      stack |= matches(i.operands, "%rsp|\\[sp") || matches(i.mnemonic, "^(push|pop|call)");
      stack |= frame_pointer && matches(i.operands, "\\(%rbp|\\[x29");
    }
    if (fmas + multiplies == 0) continue;
    ++found;
    const int steps = isa.fma ? fmas : multiplies;
    if (steps == 0 || steps % per_step != 0) {
      std::string what = std::to_string(steps);
      what += isa.fma ? " FMAs, expected a multiple of " : " multiplies, expected a multiple of ";
      error(function, loop, what + std::to_string(per_step));
    }
    if (isa.fma && multiplies + adds > 0) error(function, loop, "a separate multiply or add");
    if (!isa.fma && (multiplies != adds || fmas > 0)) error(function, loop, "expected as many adds as multiplies, and no FMA");
    if (stack) error(function, loop, "stack access");
    std::printf("%-12s %-20s %3d a step, %3d in the loop\n", isa.name, function.name.c_str(), per_step, steps);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const Isa* isa = nullptr;
  for (const Isa& candidate : kIsas) {
    if (argc == 3 && std::string(argv[1]) == candidate.name) isa = &candidate;
  }
  if (isa == nullptr) {
    std::printf("usage: inner_loops sse2|avx2|avx512|neon DUMP\n");
    return 2;
  }
  // What must be there: the full tile of each.
  const std::string rows = std::to_string(isa->rows), attention_rows = std::to_string(isa->attention_rows);
  std::map<std::string, int> required{{"matmul_tile " + rows + " 1", 0}, {"score_tile " + attention_rows, 0},
                                      {"value_tile " + attention_rows, 0}};
  static const std::regex tile("\\b(matmul_tile|score_tile|value_tile)<.*?, (\\d+)(?:u|ul)?(?:, (\\d+)(?:u|ul)?)?>\\(");
  for (Function& function : read_dump(argv[2])) {
    std::smatch match;
    const std::string name = function.name;
    if (!std::regex_search(name, match, tile)) continue;
    const int height = std::stoi(match[2]), panels = match[3].matched ? std::stoi(match[3]) : 1;
    const int vectors = match[1] == "matmul_tile" ? panels * isa->panel_vectors : 2;
    std::string key = match[1];
    key.append(" ").append(match[2]);
    if (match[3].matched) key.append(" ").append(match[3]);
    function.name = key;
    const int found = check(function, *isa, height * vectors);
    if (auto it = required.find(key); it != required.end()) it->second += found;
  }
  for (const auto& [name, found] : required) {
    if (found > 0) continue;
    std::printf("error: no inner loop of %s in %s\n", name.c_str(), argv[2]);
    ++errors;
  }
  return errors == 0 ? 0 : 1;
}
