"""What the checks of pages with forecasts share: their options, and the report of lines that differ."""

import argparse
import pathlib


def options_of(what):
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true", help="write the tables into the page")
    return parser.parse_args()


def lines_that_differ(name, says, forecast, differs):
    """Faults of a page. `differs` says whether two lines differ by more than rounding."""
    says, forecast = says.splitlines(), forecast.splitlines()
    faults = [] if len(says) == len(forecast) else [f"{name} has tables of another length"]
    return faults + [f"{name}:{i + 1}\n  says:     {a}\n  forecast: {b}"
                     for i, (a, b) in enumerate(zip(says, forecast)) if differs(a, b)]


def report(faults):
    """Prints the faults. Returns the exit code."""
    print("\n".join(faults) + "\nrun `ninja -C build update_claims` and read the difference" if faults else "ok")
    return 1 if faults else 0
