// Reads a scenario, forecasts it, and prints the bus bandwidth of each size; then the same with twice the nodes.
#include <cstdio>

#include "fabricast/core/error.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/world.hpp"

namespace {

void print_bus_bandwidth(const fabricast::Scenario& scenario) {
  const auto world = fabricast::build_world(scenario);
  const fabricast::Forecast forecast = fabricast::run_forecast(world);
  std::printf("%d nodes\n", scenario.cluster.nodes);
  for (const fabricast::ForecastRow& row : forecast.rows)
    std::printf("%14lld B %10.2f us %8.2f GB/s\n", static_cast<long long>(row.bytes), row.time.value * 1e6,
                forecast.bus_bandwidth(row).value * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: busbw SCENARIO.yaml\n");
    return 2;
  }
  try {
    fabricast::Scenario scenario = fabricast::read_scenario(argv[1]).scenario;
    print_bus_bandwidth(scenario);
    // A scenario is a plain value. What its reader derives from other keys needs --set words:
    // read_scenario(file, {"node.gpu=b200"}).
    scenario.cluster.nodes *= 2;
    print_bus_bandwidth(scenario);
    return 0;
  } catch (const fabricast::UserError& error) {
    for (const fabricast::Diagnostic& d : error.diagnostics()) std::fputs(render(d).c_str(), stderr);
    return 2;
  }
}
