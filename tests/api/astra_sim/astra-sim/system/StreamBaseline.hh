#include "astra_sim.hpp"
