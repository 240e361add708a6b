// Writes scenarios of `init` with comments (scenario/commented.hpp). Comments come from the fields themselves, so each
// key is described in the words of `describe scenario`.
#include "fabricast/scenario/commented.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/field_tree.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/schema.hpp"

namespace fabricast {

namespace {

/// A comment wrapped at 100 columns.
std::string comment(const std::string& text, int indent) {
  constexpr std::size_t width = 100;
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += line + "\n";
    line.clear();
  };
  for (const std::string& word : split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > width) flush();
    line += line.empty() ? fmt::format("{:{}}# {}", "", indent, word) : " " + word;
  }
  flush();
  return out;
}

// Descriptions of fields are fragments in lower case. As comments they are sentences.
std::string sentence(std::string text) {
  const std::size_t word = text.find_first_of(" ,");
  // A first word such as `auto:` or `1f1b` stays as a file writes it.
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z' && text.find_first_of(":_") >= word)
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text.empty() || text.ends_with('.') ? text : text + ".";
}

/// The meaning of a key and its alternatives.
std::string explanation(const Field& field, const std::string& path) {
  // A list of all GPUs or models would hide the key it belongs to.
  constexpr std::size_t most_names = 24;
  std::string text = sentence(field.doc);
  std::vector<std::string> names = field.words.empty() ? names_for(path) : field.words;
  if (field.type == FieldType::boolean) names = {"true", "false"};
  if (!names.empty() && names.size() <= most_names) text += fmt::format(" One of: {}.", fmt::join(names, ", "));
  if (names.size() > most_names) text += " `fabricast list` shows all names.";
  const auto units = units_of(field.type);
  if (!units.empty()) text += fmt::format(" Units: {}.", fmt::join(units, ", "));
  return text;
}

// Keys in the order of the fields, not of the questions that asked for them: that is the order of the documents.
class Writer {
 public:
  explicit Writer(const std::vector<GivenKey>& keys) : keys_(keys) {}

  // Given keys with their values, then a line that names the other keys of the section, so that a reader sees what else
  // there is.
  void section(const Field& here, const std::string& path, int indent) {
    std::vector<std::string> others;
    for (const Field& part : here.parts) {
      const std::string at = child_path(path, part.name);
      const auto below = below_of(at);
      if (const GivenKey* key = given(at)) {
        gap(indent);
        const std::string why = key->why.empty() ? std::string() : " " + key->why;
        out_ += comment(explanation(part, at) + why, indent) +
                fmt::format("{:{}}{}: {}\n", "", indent, part.name, key->value);
      } else if (!below.empty()) {
        gap(indent);
        out_ += comment(explanation(part, at), indent) + fmt::format("{:{}}{}:\n", "", indent, part.name);
        if (part.type == FieldType::map)
          for (const GivenKey* entry : below)
            out_ += fmt::format("{:{}}{}: {}\n", "", indent + 2, entry->path.substr(at.size() + 1), entry->value);
        else
          section(part, at, indent + 2);
      } else {
        others.push_back(part.name);
      }
    }
    gap(indent);
    if (!others.empty())
      out_ += comment(fmt::format("{}: {}.", indent == 0 ? "Sections left at their defaults" : "More keys",
                                  fmt::join(others, ", ")),
                      indent);
  }
  std::string take() { return std::move(out_); }

 private:
  void gap(int indent) {
    if (indent == 0 && !out_.empty()) out_ += "\n";
  }
  const GivenKey* given(const std::string& path) const {
    // The last value of a repeated path wins, as with `--set`.
    const auto it = std::find_if(keys_.rbegin(), keys_.rend(), [&](const GivenKey& k) { return k.path == path; });
    return it == keys_.rend() ? nullptr : &*it;
  }
  std::vector<const GivenKey*> below_of(const std::string& path) const {
    std::vector<const GivenKey*> below;
    for (const GivenKey& k : keys_)
      if (k.path.starts_with(path + ".") && given(k.path) == &k) below.push_back(&k);
    return below;
  }
  const std::vector<GivenKey>& keys_;
  std::string out_;
};

// The same keys without comments. The scenario is parsed from this text, to find out which fields apply.
void plain(const std::vector<GivenKey>& keys, const std::string& path, int indent, std::string& out) {
  std::vector<std::string> done;
  for (const GivenKey& key : keys) {
    if (!path.empty() && !key.path.starts_with(path + ".")) continue;
    const std::string rest = key.path.substr(path.empty() ? 0 : path.size() + 1);
    const std::string name = rest.substr(0, rest.find('.')), at = child_path(path, name);
    if (std::find(done.begin(), done.end(), name) != done.end()) continue;
    done.push_back(name);
    const auto whole = std::find_if(keys.rbegin(), keys.rend(), [&](const GivenKey& k) { return k.path == at; });
    if (whole != keys.rend()) {
      out += fmt::format("{:{}}{}: {}\n", "", indent, name, whole->value);
    } else {
      out += fmt::format("{:{}}{}:\n", "", indent, name);
      plain(keys, at, indent + 2, out);
    }
  }
}

}  // namespace

std::string plain_yaml(const std::vector<GivenKey>& keys) {
  std::string out;
  plain(keys, "", 0, out);
  return out;
}

std::string commented_yaml(const std::vector<std::string>& head, const std::vector<GivenKey>& keys) {
  Scenario scenario = parse_scenario(plain_yaml(keys), "scenario").scenario;
  FieldTree tree;
  visit_fields(tree, scenario);
  std::string out;
  for (const std::string& line : head) out += line.empty() ? "#\n" : "# " + line + "\n";
  Writer writer(keys);
  writer.section(tree.take(), "", 0);
  return out + "\n" + writer.take();
}

}  // namespace fabricast
