// The command line: a table of verbs, and a function for each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Runs a command line without the program's name, prints errors, and returns the exit code: 0 done; 1 ran and a check
/// failed; 2 bad command or scenario; 3 hardware or backend unavailable; 4 internal error; 130 interrupted.
int run_command_line(const std::vector<std::string>& arguments);

/// A verb, such as `run`. To add one, write its function and add a line to the table in commands.cpp.
struct Verb {
  std::string_view name;
  std::string_view arguments;  ///< for the list of verbs
  std::string_view summary;
  /// Runs the verb with the words after its name; returns the exit code.
  int (*run)(const std::vector<std::string>& arguments);
  std::span<const Verb> (*words)() = nullptr;  ///< the second words of a verb such as `calibrate`; null: it has none
};

/// All verbs, in the order of `fabricast --help`.
std::span<const Verb> all_verbs();
/// The text of `fabricast --help`.
std::string usage_text();

/// The text of `fabricast VERB --help` for a verb with second words.
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
// Programs of their own, in packages of their own (doors.cpp).
int mcp_verb(const std::vector<std::string>& arguments);
int serve_verb(const std::vector<std::string>& arguments);
int watch_verb(const std::vector<std::string>& arguments);
int calibrate_verb(const std::vector<std::string>& arguments);
int import_fabric_verb(const std::vector<std::string>& arguments);  ///< `import fabric`
std::span<const Verb> calibrate_words();
int import_verb(const std::vector<std::string>& arguments);  ///< `calibrate import`
int probe_verb(const std::vector<std::string>& arguments);   ///< `calibrate probe`

}  // namespace fabricast
