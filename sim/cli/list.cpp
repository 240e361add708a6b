// `list` and `describe`: what is built in (ask/catalogue.hpp). Also `schema`.
#include "commands.hpp"
#include "fabricast/ask/catalogue.hpp"
#include "fabricast/scenario/schema.hpp"
#include "options.hpp"

namespace fabricast {

int list_verb(const std::vector<std::string>& arguments) {
  Options options("list", "Lists the entries of a catalogue (default: of all catalogues).", {"[WHAT]"});
  options.example("fabricast list nodes");
  options.words("WHAT", catalogue_names());
  if (!options.parse(arguments)) return 0;
  emit("-", catalogue_text(options.text("WHAT")));
  return 0;
}

int schema_verb(const std::vector<std::string>& arguments) {
  Options options("schema", "Writes the JSON Schema of scenarios, which editors use to check and complete them.", {});
  options.example("fabricast schema --output scenario.schema.json");
  options.add()("output,o", takes("FILE"), "write to FILE (default: standard output)");
  if (!options.parse(arguments)) return 0;
  emit(options.has("output") ? output_path(options, "output") : "-", scenario_schema(version_text()));
  return 0;
}

int describe_verb(const std::vector<std::string>& arguments) {
  Options options("describe", "Describes an entry of `fabricast list`, with its sources.", {"NAME"});
  options.example("fabricast describe hgx-h100");
  options.words("NAME", described_names());
  if (!options.parse(arguments)) return 0;
  emit("-", description_of(options.get<std::string>("NAME")));
  return 0;
}

}  // namespace fabricast
