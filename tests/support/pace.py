"""How fast this machine is now, so that tests of speed hold a program to its limits and not a machine."""

import time

IDLE_SECONDS = 0.038  # on two cores of a server processor of 2021, with nothing else at work


def _seconds():
    begin = time.perf_counter()
    number, numbers = 1, []
    for _ in range(100_000):
        number = (number * 1664525 + 1013904223) & 0xFFFFFFFF
        numbers.append(number)
    numbers.sort()
    return time.perf_counter() - begin


def pace():
    """How many times longer a fixed piece of work takes here and now: from 1, so that a faster machine does not tighten
    a limit, to 4, so that a limit remains one."""
    return min(max(min(_seconds() for _ in range(3)) / IDLE_SECONDS, 1), 4)
