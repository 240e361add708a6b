#include "library_symbols.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <fstream>

namespace fabricast::test {

namespace {

template <class T>
std::vector<T> read(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<T> out(bytes / sizeof(T));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(T)));
  return out;
}

}  // namespace

std::map<std::string, void*> internal_symbols(void* handle, const std::vector<std::string>& names) {
  std::map<std::string, void*> found;
  link_map* loaded = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &loaded) != 0) return found;
  std::ifstream file(loaded->l_name, std::ios::binary);
  const auto header = read<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
  const auto sections = read<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const auto text = read<char>(file, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol : read<Elf64_Sym>(file, section.sh_offset, section.sh_size)) {
      const std::string name = text.data() + symbol.st_name;
      if (symbol.st_value != 0 && std::find(names.begin(), names.end(), name) != names.end())
        found[name] = reinterpret_cast<void*>(loaded->l_addr + symbol.st_value);
    }
  }
  return found;
}

}  // namespace fabricast::test
