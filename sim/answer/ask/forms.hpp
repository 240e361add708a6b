// Answers from a record and the functions that write it.
#pragma once

#include <memory>
#include <utility>

#include "fabricast/ask/answer.hpp"

namespace fabricast {

template <class Record>
using FormWriter = std::string (*)(const Record&);

/// An answer that keeps `record`, with a form for each writer and a page.
template <class Record>
Answer answer_with(Record record, std::initializer_list<std::pair<std::string_view, FormWriter<Record>>> forms,
                   Page (*page)(const Record&, std::string) = nullptr) {
  const auto kept = std::make_shared<const Record>(std::move(record));
  Answer answer;
  for (const auto& [name, write] : forms)
    answer.forms.push_back({name, [kept, write = write] { return write(*kept); }});
  if (page) answer.page = [kept, page](std::string command) { return page(*kept, std::move(command)); };
  return answer;
}

/// The same of a step, with its timeline.
inline Answer with_timeline(Answer answer, std::shared_ptr<const StepForecast> step) {
  answer.timeline = [step = std::move(step)] { return step_trace(*step); };
  return answer;
}

}  // namespace fabricast
