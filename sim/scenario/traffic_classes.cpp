// Classes of traffic by name and by the marks of NCCL's packets (fabricast/scenario/traffic_classes.hpp).
#include "fabricast/scenario/traffic_classes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

using Variables = std::map<std::string, std::string>;

/// Ports of InfiniBand have up to 16 virtual lanes, those of Ethernet eight queues.
constexpr std::size_t most_classes = 16;

const std::vector<TrafficClass>& classes_of(const Scenario& s) { return s.fabric.congestion.classes; }

std::string mark_variable(const Scenario& s) {
  return s.node.spec.nics.link == LinkKind::infiniband ? "NCCL_IB_SL" : "NCCL_IB_TC";
}

/// The mark of a job's packets. \param provider  variables that hold where the user sets none
int mark_of(const Scenario& s, const Variables& provider) {
  const std::string name = mark_variable(s);
  for (const Variables* variables : {&s.nccl.env, &provider})
    if (const auto it = variables->find(name); it != variables->end())
      if (const auto number = parse_integer(it->second); number && number.value >= 0 && number.value <= 255)
        return static_cast<int>(number.value);
  return 0;
}

bool lists(const TrafficClass& c, int mark) { return std::find(c.tc.begin(), c.tc.end(), mark) != c.tc.end(); }

std::uint32_t class_by_name(const Scenario& s, const std::string& name, std::uint32_t otherwise) {
  const std::vector<TrafficClass>& classes = classes_of(s);
  for (std::uint32_t k = 0; k < classes.size(); ++k)
    if (!name.empty() && classes[k].name == name) return k;
  return otherwise;
}

}  // namespace

std::uint32_t class_of_main(const World& world) {
  const std::vector<TrafficClass>& classes = classes_of(world.scenario());
  const int mark = mark_of(world.scenario(), world.provider().variables);
  for (std::uint32_t k = 0; k < classes.size(); ++k)
    if (lists(classes[k], mark)) return k;
  return 0;
}

std::uint32_t class_of_job(const World& main, const JobSpec& job) {
  return class_by_name(main.scenario(), job.traffic_class, class_of_main(main));
}

std::uint32_t class_of_flows(const World& main, const BackgroundSpec& flows) {
  return class_by_name(main.scenario(), flows.traffic_class, 0);
}

std::string class_name(const World& world, std::uint32_t traffic_class) {
  const std::vector<TrafficClass>& classes = classes_of(world.scenario());
  return traffic_class < classes.size() ? classes[traffic_class].name : std::string();
}

std::string in_class(const World& world, std::uint32_t traffic_class) {
  const std::string name = class_name(world, traffic_class);
  return name.empty() ? name : " in class " + name;
}

void put_into_class(const World& main, std::uint32_t traffic_class, Scenario& scenario) {
  const int mark = mark_of(main.scenario(), main.provider().variables);
  std::vector<TrafficClass>& classes = scenario.fabric.congestion.classes;
  for (std::uint32_t k = 0; k < classes.size(); ++k) {
    std::erase(classes[k].tc, mark);
    if (k == traffic_class) classes[k].tc.push_back(mark);
  }
}

namespace {

using Refuse = std::function<void(std::string, std::string, std::string)>;

void check_names(const std::vector<TrafficClass>& classes, const Refuse& refuse) {
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const std::string path = fmt::format("fabric.congestion.classes[{}]", k);
    const std::string& name = classes[k].name;
    if (name.empty()) refuse(path, "`name` is missing", "e.g. name: storage");
    // Names occur in tables and CSV, where they need no quotes.
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
        std::string::npos)
      refuse(path + ".name", fmt::format("'{}' has characters other than letters, digits, _ . -", name), "");
    for (std::size_t j = 0; j < k; ++j) {
      if (!name.empty() && classes[j].name == name)
        refuse(path + ".name", fmt::format("another class has the name '{}'", name), "");
      for (const int mark : classes[k].tc)
        if (lists(classes[j], mark))
          refuse(path + ".tc", fmt::format("{} is also in class '{}'", mark, classes[j].name),
                 "switches put each packet into one class");
    }
  }
  if (classes.size() > most_classes)
    refuse("fabric.congestion.classes", fmt::format("{} classes are more than ports have queues", classes.size()),
           fmt::format("at most {}", most_classes));
}

}  // namespace

void check_classes(const Scenario& s, const Refuse& refuse, std::vector<Diagnostic>& doubts) {
  const std::vector<TrafficClass>& classes = classes_of(s);
  check_names(classes, refuse);
  const auto check = [&](const std::string& name, const std::string& path) {
    if (name.empty() || find_by_name(classes, name)) return;
    if (classes.empty())
      refuse(path, fmt::format("there is no class '{}': fabric.congestion.classes is empty", name),
             fmt::format("fabric: {{congestion: {{classes: [{{name: nccl}}, {{name: {}}}]}}}}", name));
    else
      refuse(path, fmt::format("there is no class '{}'", name), suggestion(name, names_of(classes)));
  };
  for (std::size_t i = 0; i < s.jobs.size(); ++i) check(s.jobs[i].traffic_class, fmt::format("jobs[{}].class", i));
  for (std::size_t i = 0; i < s.background.size(); ++i)
    check(s.background[i].traffic_class, fmt::format("background[{}].class", i));
  if (classes.empty()) return;
  const auto doubt = [&](std::string path, std::string message, std::string hint) {
    doubts.push_back({Diagnostic::Severity::warning, {}, std::move(path), std::move(message), std::move(hint)});
  };
  if (s.jobs.empty() && s.background.empty())
    doubt("fabric.congestion.classes", "classes have no effect, because no jobs or flows share links", "");
  const std::string variable = mark_variable(s);
  // The parser of variables does not know that this one has an effect here.
  std::erase_if(doubts, [&](const Diagnostic& d) { return d.path == "nccl.env." + variable; });
  const int mark = mark_of(s, {});
  if (s.nccl.env.contains(variable) &&
      std::none_of(classes.begin(), classes.end(), [&](const TrafficClass& c) { return lists(c, mark); }))
    doubt("nccl.env." + variable,
          fmt::format("no class has {} in `tc`: the job is in the first class, '{}'", mark, classes.front().name),
          fmt::format("fabric.congestion.classes: [{{name: {}, tc: [{}]}}]", classes.front().name, mark));
}

}  // namespace fabricast
