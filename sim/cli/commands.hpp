// The command line: a table of verbs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Exit codes: 0 done; 1 ran and a check failed; 2 bad command or scenario; 3 hardware or backend unavailable;
/// 4 internal error; 130 interrupted.
int run_command_line(const std::vector<std::string>& arguments);

struct Verb {
  std::string_view name;
  std::string_view arguments;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
  std::span<const Verb> (*words)() = nullptr;  ///< of a verb that takes a second word: those
};

std::span<const Verb> all_verbs();
/// What `fabricast --help` prints.
std::string usage_text();

/// What `fabricast VERB --help` prints for a verb that takes a second word.
std::string words_text(std::string_view verb, std::span<const Verb> words);

int plan_verb(const std::vector<std::string>& arguments);
int risk_verb(const std::vector<std::string>& arguments);
int jobs_verb(const std::vector<std::string>& arguments);
int run_verb(const std::vector<std::string>& arguments);
int bill_verb(const std::vector<std::string>& arguments);
int gate_verb(const std::vector<std::string>& arguments);
int check_verb(const std::vector<std::string>& arguments);
int explain_verb(const std::vector<std::string>& arguments);
int doctor_verb(const std::vector<std::string>& arguments);
int export_verb(const std::vector<std::string>& arguments);
int inspect_verb(const std::vector<std::string>& arguments);
int list_verb(const std::vector<std::string>& arguments);
int describe_verb(const std::vector<std::string>& arguments);
int schema_verb(const std::vector<std::string>& arguments);
int init_verb(const std::vector<std::string>& arguments);
int compare_verb(const std::vector<std::string>& arguments);
int help_verb(const std::vector<std::string>& arguments);
int calibrate_verb(const std::vector<std::string>& arguments);
int import_fabric_verb(const std::vector<std::string>& arguments);  ///< `import fabric`
std::span<const Verb> calibrate_words();
int import_verb(const std::vector<std::string>& arguments);  ///< `calibrate import`
int probe_verb(const std::vector<std::string>& arguments);   ///< `calibrate probe`

}  // namespace fabricast
