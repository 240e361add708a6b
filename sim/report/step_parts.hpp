// What forecasts of training and of inference steps share.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "fabricast/report/step.hpp"

namespace fabricast {

/// How many GPUs of what kind, on what network.
std::string gpus_text(const World& world, std::int64_t gpus);
/// Over all ranks that the actors stand for.
ActorTimes mean_of(const Program& program, const std::vector<ActorTimes>& actors);
/// The exchanges that ran.
std::vector<ExchangeUse> uses_of(const Program& program, const Timeline& timeline, Traffic& traffic);

/// A row for each; those of stages that differ in nothing else are one.
std::string exchange_table(const Program& program, const std::vector<ExchangeUse>& exchanges);
nlohmann::ordered_json exchanges_json(const Program& program, const std::vector<ExchangeUse>& exchanges);

}  // namespace fabricast
