// Requests of servers: the arguments of a question as JSON, and the schema that they follow.
//
//   {"scenario": "YAML or JSON" or {...}, "changes": ["cluster.nodes=16"], ... options of the question}
//
// Instead of `scenario`, `file` may name one in the directory that the server may read.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "../common/questions.hpp"
#include "work_pool.hpp"

namespace fabricast {

/// Something that a server can be asked: a question to a scenario, or what is built in.
struct ServiceTool {
  std::string_view name, summary;
  const Question* question = nullptr;  ///< null: `describe`, `list` or `schema`
};
std::span<const ServiceTool> tools();
const ServiceTool* find_tool(std::string_view name);

/// The JSON Schema of the arguments of a tool.
nlohmann::ordered_json arguments_schema(const ServiceTool& tool);
/// The JSON Schema of a structured answer: {"status", "answer", "diagnostics"}.
nlohmann::ordered_json answer_schema();
/// A structured answer. `answer` is the JSON of the answer, a text in other forms, or null.
nlohmann::ordered_json structured(const ServiceReply& reply);

/// The job that answers, to be run in a process of its own. Faults of the arguments become its reply.
WorkPool::Job job_of(const ServiceTool& tool, const nlohmann::json& arguments);

/// Loads what every answer needs, so that processes need not do it again. Starts no threads that stay.
void warm_up();

}  // namespace fabricast
