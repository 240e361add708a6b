/* A clock that stands still. htsim seeds the choice of a flow's path with the time of day, so that no run can be
   repeated; study.py loads this before it (LD_PRELOAD). The second is the environment's PACKETS_TIME. */
#include <stdlib.h>
#include <time.h>

time_t time(time_t* out) {
  const char* text = getenv("PACKETS_TIME");
  const time_t now = text ? (time_t)atol(text) : 0;
  if (out) *out = now;
  return now;
}
