// Gives a reader every file of its corpus: fuzz_replay READER FOLDER. What breaks a promise aborts.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "reader.hpp"

namespace {

struct Reader {
  std::string_view name;
  void (*read)(std::string_view);
};

constexpr Reader readers[] = {
#define FABRICAST_READER(name) {#name, fabricast::fuzz::read_##name},
#include "readers.inc"
#undef FABRICAST_READER
};

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("fuzz_replay READER FOLDER\n", stderr), 2;
  const std::string_view name = argv[1];
  const auto reader =
      std::find_if(std::begin(readers), std::end(readers), [&](const Reader& r) { return r.name == name; });
  if (reader == std::end(readers)) return std::fprintf(stderr, "no reader '%s'\n", argv[1]), 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) return std::fprintf(stderr, "%s: no file\n", argv[2]), 1;
  for (const std::filesystem::path& file : files) {
    // The last line names the file of an abort.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    reader->read(bytes_of(file));
  }
  std::printf("%zu files\n", files.size());
  return 0;
}
