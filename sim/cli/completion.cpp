// Completion for bash and zsh, from the descriptions of all verbs. The scripts are self-contained: completing a word
// does not run fabricast.
//
// Words come from the descriptions of options and from the fields of scenarios, so completion knows every key for
// `--set` and its words. The shell code is data here: the loops below only fill in tables of `case`.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "commands.hpp"
#include "fabricast/scenario/schema.hpp"
#include "manual.hpp"

namespace fabricast {

namespace {

/// The second words of a verb: `calibrate` has import, validate, ...
std::vector<std::string> second_words(const std::vector<VerbHelp>& verbs, const std::string& first) {
  std::vector<std::string> words;
  for (const VerbHelp& v : verbs)
    if (v.verb.starts_with(first + " ")) words.push_back(v.verb.substr(first.size() + 1));
  return words;
}

std::vector<std::string> plain_names(const std::vector<VerbHelp::Word>& options) {
  std::vector<std::string> names;
  for (const VerbHelp::Word& o : options) names.push_back("--" + o.name);
  return names;
}

/// Whether a word is a key of the scenario with a value.
bool takes_key(const VerbHelp::Word& word) { return word.many && (word.name == "set" || word.name == "sweep"); }
bool takes_scenario(const VerbHelp::Word& word) { return word.name == "SCENARIO" || word.name == "scenario"; }

/// A line of a bash `case` that completes the value of an option or a positional argument.
std::string bash_words(const std::string& pattern, const VerbHelp::Word& word) {
  if (takes_key(word)) return fmt::format("    \"{}\") _fabricast_set \"$current\" ;;\n", pattern);
  if (takes_scenario(word)) return fmt::format("    \"{}\") _fabricast_yaml \"$current\" ;;\n", pattern);
  if (word.words.empty()) return fmt::format("    \"{}\") ;;\n", pattern);
  return fmt::format("    \"{}\") COMPREPLY=($(compgen -W \"{}\" -- \"$current\")) ;;\n", pattern,
                     fmt::join(word.words, " "));
}

// Bash splits words at the characters of COMP_WORDBREAKS, among them = and :, which keys of `--set` contain. Words are
// joined again here and cut again at the end.
constexpr std::string_view bash_head = R"(
# Joins words that bash has split at = and :. `current` is the word to complete.
_fabricast_line() {
  words=() current=
  local i word join=
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ( -n $join || $word == [=:]* ) ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    join=
    [[ $word == *[=:] ]] && join=1
  done
  [[ ${#words[@]} -gt 0 ]] && current=${words[${#words[@]}-1]}
}

_fabricast_yaml() {
  COMPREPLY=($(compgen -f -X '!*.y*ml' -- "$1") $(compgen -d -- "$1"))
  compopt -o filenames 2>/dev/null
}
)";

constexpr std::string_view bash_tail = R"(
  # The part before the last = or : is already on the line.
  if [[ ${words[${#words[@]}-1]} == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then
    local whole=${words[${#words[@]}-1]} i
    local before=${whole%"${whole##*[=:]}"}
    [[ $whole == --*=* && $whole != "$current" ]] && before=${before#"${whole%%=*}="}
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
  fi
}
complete -o default -F _fabricast fabricast
)";

/// A function that completes `key=`, and `key=word` for keys with a closed list of words.
/// Without a word for the key the completion ends with `=` and no blank, so that typing can go on.
std::string bash_set() {
  std::string out = "\n_fabricast_set() {\n  local words\n  case $1 in\n";
  std::string keys;
  for (const ScenarioKey& key : scenario_keys()) {
    keys += (keys.empty() ? "" : " ") + key.path + "=";
    if (key.words.empty()) continue;
    out += fmt::format("    {}=*) words=\"", key.path);
    for (std::size_t i = 0; i < key.words.size(); ++i)
      out += fmt::format("{}{}={}", i ? " " : "", key.path, key.words[i]);
    out += "\" ;;\n";
  }
  return out + "    *=*) return ;;\n    *)\n      words=\"" + keys +
         "\"\n      compopt -o nospace 2>/dev/null ;;\n  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$1\"))\n}\n";
}

}  // namespace

std::string bash_completion(const std::vector<VerbHelp>& verbs) {
  std::string out =
      fmt::format("# Completion of fabricast {} for bash, written by `fabricast help --bash`.\n", version_text());
  out += bash_head;
  out += bash_set();
  std::string names, values, options, positional;
  // Verbs with second words take two words off the line before positions are counted.
  std::string seconds = "    *) ;;\n";
  for (const Verb& verb : all_verbs()) {
    names += std::string(verb.name) + " ";
    if (const auto words = second_words(verbs, std::string(verb.name)); !words.empty())
      seconds = fmt::format(
                    "    {})\n      if [[ ${{#words[@]}} -eq 2 ]]; then\n        COMPREPLY=($(compgen -W \"{}\" -- "
                    "\"$current\"))\n        return\n      fi\n      verb=\"{} ${{words[1]}}\" first=2 ;;\n",
                    verb.name, fmt::join(words, " "), verb.name) +
                seconds;
  }
  for (const VerbHelp& verb : verbs) {
    options += fmt::format("    \"{}\") options=\"{}\" ;;\n", verb.verb, fmt::join(plain_names(verb.options), " "));
    std::string taking;
    for (const VerbHelp::Word& o : verb.options)
      if (!o.argument.empty() && !o.optional) {
        values += bash_words(verb.verb + " --" + o.name, o);
        taking += "--" + o.name + " ";
        if (o.letter) {
          values += bash_words(fmt::format("{} -{}", verb.verb, o.letter), o);
          taking += fmt::format("-{} ", o.letter);
        }
      }
    // Before the ` ;;` and line break that end the entry: options that take a value, so that their values are no
    // positions.
    options.insert(options.size() - 4, fmt::format(" values=\" {}\"", taking));
    for (std::size_t i = 0; i < verb.positional.size(); ++i)
      positional += bash_words(fmt::format("{} {}", verb.verb, i), verb.positional[i]);
  }
  out +=
      "\n_fabricast() {\n  local -a words\n  local current verb first=1 options= values= previous i place=0\n  "
      "COMPREPLY=()\n  _fabricast_line\n";
  out += fmt::format(
      "  if [[ ${{#words[@]}} -le 1 ]]; then\n    COMPREPLY=($(compgen -W \"{}--help --version\" -- \"$current\"))\n   "
      " return\n  fi\n",
      names);
  out += "  verb=${words[0]}\n  case $verb in\n" + seconds + "  esac\n  case $verb in\n" + options + "  esac\n";
  out +=
      "  previous=${words[${#words[@]}-2]}\n"
      "  if [[ $current == --*=* ]]; then\n    previous=${current%%=*} current=${current#*=}\n  fi\n"
      "  if [[ $values == *\" $previous \"* ]]; then\n    case \"$verb $previous\" in\n" +
      values +
      "    esac\n"
      "  elif [[ $current == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  else\n    # The position among the words without a dash.\n"
      "    for ((i = first; i < ${#words[@]} - 1; ++i)); do\n"
      "      if [[ $values == *\" ${words[i]} \"* ]]; then\n        ((++i))\n      elif [[ ${words[i]} != -* ]]; "
      "then\n        ((++place))\n      fi\n    done\n"
      "    case \"$verb $place\" in\n" +
      positional + "    esac\n  fi\n";
  return out + std::string(bash_tail);
}

namespace {

/// Text escaped for a specification of _arguments in single quotes.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const VerbHelp::Word& word) {
  if (takes_key(word)) return "_fabricast_set";
  if (takes_scenario(word)) return "_files -g \"*.(yaml|yml)\"";
  if (!word.words.empty()) return fmt::format("({})", fmt::join(word.words, " "));
  return word.argument.empty() && word.doc.empty() ? "_files" : "_default";
}

// Specifications of _arguments: *: repeatable, ::: optional, =: value after an equals sign or a blank.
std::string zsh_arguments(const VerbHelp& verb) {
  std::string out;
  for (const VerbHelp::Word& o : verb.options) {
    const std::string many = o.many ? "*" : "", doc = zsh_text(o.doc);
    if (o.argument.empty()) {
      out += fmt::format(" \\\n        '{}--{}[{}]'", many, o.name, doc);
      continue;
    }
    const std::string value =
        fmt::format("[{}]{}{}:{}", doc, o.optional ? "::" : ":", zsh_text(o.argument), zsh_action(o));
    out += fmt::format(" \\\n        '{}--{}={}{}'", many, o.name, o.optional ? "-" : "", value);
    if (o.letter) out += fmt::format(" \\\n        '{}-{}{}'", many, o.letter, value);
  }
  for (const VerbHelp::Word& p : verb.positional)
    out += fmt::format(" \\\n        '{}:{}:{}'",
                       p.many       ? "*"
                       : p.optional ? ":"
                                    : "",
                       zsh_text(p.name), zsh_action(p));
  return out;
}

}  // namespace

std::string zsh_completion(const std::vector<VerbHelp>& verbs) {
  std::string out =
      fmt::format("#compdef fabricast\n# Completion of fabricast {} for zsh, written by `fabricast help --zsh`.\n\n",
                  version_text());
  std::string keys, words;
  for (const ScenarioKey& key : scenario_keys()) {
    keys += fmt::format(" {}", key.path);
    if (!key.words.empty()) words += fmt::format("      {}) compadd -- {} ;;\n", key.path, fmt::join(key.words, " "));
  }
  out += "_fabricast_set() {\n  local key=${PREFIX%%=*}\n  if compset -P '*='; then\n    case $key in\n" + words +
         "      *) _default ;;\n    esac\n  else\n    compadd -S = --" + keys + "\n  fi\n}\n\n";
  out += "_fabricast() {\n  local context state line curcontext=$curcontext\n  local -a verbs\n  verbs=(\n";
  for (const Verb& verb : all_verbs())
    out += fmt::format("    '{}:{}'\n", verb.name, zsh_text(std::string(verb.summary)));
  out +=
      "  )\n  _arguments -C '--help[show the verbs]' '--version[show the version]' '1:verb:->verb' "
      "'*::argument:->rest'\n"
      "  case $state in\n    verb) _describe verb verbs ;;\n    rest)\n      local verb=$words[1]\n";
  for (const Verb& verb : all_verbs())
    if (const auto second = second_words(verbs, std::string(verb.name)); !second.empty())
      out += fmt::format(
          "      if [[ $verb == {} ]]; then\n        if (( CURRENT == 2 )); then\n          compadd -- {}\n          "
          "return\n        fi\n"
          "        verb+=\" $words[2]\"\n        shift words\n        (( CURRENT-- ))\n      fi\n",
          verb.name, fmt::join(second, " "));
  out += "      case $verb in\n";
  for (const VerbHelp& verb : verbs)
    out += fmt::format("      '{}') _arguments{} ;;\n", verb.verb, zsh_arguments(verb));
  return out + "      esac ;;\n  esac\n}\n\n_fabricast \"$@\"\n";
}

}  // namespace fabricast
