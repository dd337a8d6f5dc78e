# Turns a file into a C++ source with its bytes:
#   cmake -DINPUT=seed_example.json -DOUTPUT=seed_example.cc -DNAME=kSeedExample -P embed.cmake
# The source defines `extern const char NAME[]` (ends with a 0 that is not counted) and `extern const unsigned long NAMESize` in
# namespace saccade::tool.
file(READ "${INPUT}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REPEAT "[0-9a-f]" 32 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${OUTPUT}" "// Made from a file by cmake/embed.cmake.
namespace saccade::tool {
extern const char ${NAME}[];
extern const unsigned long ${NAME}Size;
const char ${NAME}[] = {
${bytes}'\\0'};
const unsigned long ${NAME}Size = ${size};
}  // namespace saccade::tool
")
