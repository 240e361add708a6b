// Which traffic is in which class of `fabric.congestion.classes`.
//
// NCCL marks its packets: NCCL_IB_TC is the traffic class of RoCE packets, from which switches take the DSCP, and
// NCCL_IB_SL the service level of InfiniBand packets, which the subnet manager maps to a virtual lane [NCCL-env]. Both
// are 0 by default. A job is in the class that lists its value in `tc`, else in the first one, unless `jobs[].class`
// names another one. Flows of `background` are in the class that they name, else in the first one.
//
// Classes are numbered as in the list. Pure functions; safe to call concurrently.
//
// Not modelled: a class of NCCL's control messages (NCCL_IB_FIFO_TC); classes of NVLink and PCIe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// The class of a world's own job.
std::uint32_t class_of_main(const World& world);
/// The class of an entry of section `jobs`, and of section `background`, of the world of the scenario's own job.
std::uint32_t class_of_job(const World& main, const JobSpec& job);
std::uint32_t class_of_flows(const World& main, const BackgroundSpec& flows);
/// The name of a class; empty if none are stated.
std::string class_name(const World& world, std::uint32_t traffic_class);
/// ` in class storage`, for tables; empty if none are stated.
std::string in_class(const World& world, std::uint32_t traffic_class);

/// Puts a world's own job into a class: its packets are then listed in the `tc` of that class alone.
void put_into_class(const World& main, std::uint32_t traffic_class, Scenario& scenario);

/// Reports names that are missing, doubtful, listed twice or not listed at all, and values of `tc` in two classes.
/// \param refuse  called with the key, the message and a hint
/// \param doubts  gets warnings about classes that have no effect
void check_classes(const Scenario& scenario, const std::function<void(std::string, std::string, std::string)>& refuse,
                   std::vector<Diagnostic>& doubts);

}  // namespace fabricast
