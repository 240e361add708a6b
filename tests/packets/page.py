#!/usr/bin/env python3
"""Writes or checks the tables of docs/validation-packets.md.

    page.py --rows BINARY --page docs/validation-packets.md [--update]

BINARY is test_packets, whose hidden test prints a row for each run. Without --update, exit code 1 if a table on the page differs from the one made now.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
from collections import namedtuple

import queues
import reorder
import study

Row = namedtuple("Row", "case transport routing kind degree hosts ratio note seed role "
                        "packet_last packet_mean fair_last fair_mean ports_last ports_mean reactive_last reactive_mean")
NAME = re.compile(r"([a-z]+)_([a-z]+)_([a-z]+?)(\d*)_(\d+)_(\d+)to1(?:_(\w+))?$")

TRANSPORTS = {
    "roce": "RoCE, PFC only",
    "dcqcn": "RoCE, DCQCN and PFC",
    "uec": "Ultra Ethernet (NSCC)",
    "eqds": "EQDS",
}
ROUTINGS = {"ecmp": "ECMP", "flowlet": "adaptive by flowlet", "spray": "spray", "adaptive": "adaptive by packet"}
KINDS = ("permutation", "ring", "tree", "alltoall", "incast")
ROLES = {"n": "NIC of a sender", "u": "uplink of a leaf", "d": "link down to the receiver's leaf", "a": "nothing"}


def read_rows(text):
    rows = []
    for line in text.splitlines():
        case, *cells = line.split(",")
        if not NAME.match(case) or len(cells) != 10:
            continue  # the framework's own lines
        seed, role, *numbers = cells
        transport, routing, kind, degree, hosts, ratio, note = NAME.match(case).groups()
        rows.append(Row(case, transport, routing, kind, int(degree or 0), int(hosts), int(ratio), note or "", int(seed),
                        role, *map(float, numbers)))
    return rows


def percent(factor):
    return f"{round(100 * (factor - 1)):+d}"


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                     ["| " + " | ".join(line) + " |" for line in lines])


def order(row):
    return (list(TRANSPORTS).index(row.transport), list(ROUTINGS).index(row.routing))


def mebibytes(row):
    """Of a flow, where a table says another size than its transport's usual one; and 64 with DCQCN."""
    stated = re.fullmatch(r"(\d+)mib", row.note)
    return int(stated[1]) if stated else 64 if row.transport == "dcqcn" else 0


def traffic_of(row):
    """The column `traffic`."""
    size = f", {mebibytes(row)} MiB" if mebibytes(row) else ""
    return row.kind + (f" {row.degree}:1" if row.degree else "") + size


def controlled(row):
    """The end by the rules of `fabric.congestion` for this transport, or None where they say nothing."""
    if row.transport == "roce" and row.routing != "ecmp":
        return None
    # Flow control alone: rates for a collective, shares by port where others meet it.
    return row.ports_last if row.transport == "roce" and row.kind == "bystanders" else row.reactive_last


def spread(ratios):
    if not ratios:
        return ["-", "-", "-"]
    return [percent(statistics.median(ratios)), f"{percent(min(ratios))} to {percent(max(ratios))}",
            f"{sum(abs(r - 1) <= 0.15 for r in ratios)} of {len(ratios)}"]


def summary(rows):
    lines = []
    for transport, routing in sorted({(r.transport, r.routing) for r in rows}, key=lambda k: (
            list(TRANSPORTS).index(k[0]), list(ROUTINGS).index(k[1]))):
        for kind, size in ((kind, size) for kind in KINDS for size in (0, 64, 16, 4, 1)):
            own = [r for r in rows if (r.transport, r.routing, r.kind, r.role) == (transport, routing, kind, "c")
                   and mebibytes(r) == size]
            if not own:
                continue
            means = [r.packet_mean / r.fair_mean for r in own]
            ruled = [r.packet_last / controlled(r) for r in own if controlled(r)]
            named = kind + (f", {size} MiB" if size else "")
            ideal = [r.packet_last / r.fair_last for r in own]
            lines.append([TRANSPORTS[transport], ROUTINGS[routing], named, *spread(ideal),
                          percent(statistics.median(means)), *spread(ruled)])
    return table(["transport", "routing", "traffic", "ideal: median, %", "range, %", "within 15 %", "mean flow, median, %",
                  "congestion stated: median, %", "range, %", "within 15 %"], lines)


def cases(rows):
    lines = []
    names = []
    for r in sorted(rows, key=lambda r: (order(r), r.kind not in KINDS, r.kind, -mebibytes(r), r.degree, r.hosts,
                                         r.ratio)):
        if r.case not in names and r.kind in KINDS:
            names.append(r.case)
    for name in names:
        own = [r for r in rows if r.case == name and r.role == "c"]
        r = own[0]
        ended = [r.packet_last / r.fair_last for r in own]
        lines.append([f"{r.transport}, {ROUTINGS[r.routing]}", traffic_of(r), str(r.hosts), f"{r.ratio}:1",
                      f"{statistics.median(r.packet_last for r in own):.0f}",
                      f"{statistics.median(r.fair_last for r in own):.0f}",
                      percent(statistics.median(ended)), f"{percent(min(ended))} to {percent(max(ended))}"])
    return table(["transport, routing", "traffic", "hosts", "leaf", "packets, us", "max-min, us", "median, %",
                  "range, %"], lines)


def bystanders(rows):
    lines = []
    seen = sorted({(order(r), r.transport, r.routing, r.note, r.degree) for r in rows if r.kind == "bystanders"})
    for _, transport, routing, note, degree in seen:
        for role, shares in ROLES.items():
            own = [r for r in rows if (r.transport, r.routing, r.note, r.degree, r.kind, r.role) ==
                   (transport, routing, note, degree, "bystanders", role)]
            slower = [r.packet_last / r.fair_last for r in own]
            size = mebibytes(own[0])
            said = f"{size} MiB" if size else note
            line = [transport + (", " + said if said else ""), ROUTINGS[routing], f"{degree}:1", shares,
                    f"{statistics.median(slower):.1f} ({min(slower):.1f} to {max(slower):.1f})"]
            if routing == "ecmp" and transport in ("roce", "dcqcn"):
                model = [r.packet_last / controlled(r) for r in own]
                line.append(f"{percent(statistics.median(model))} ({percent(min(model))} to {percent(max(model))})")
            else:
                line.append("-")
            lines.append(line)
    return table(["transport", "routing", "incast", "shares", "packets / max-min", "packets / congestion stated, %"], lines)


def read_lossy(text):
    """recovery, latency, loss, window; then packets and model: sent, timeouts, mean end."""
    return [line.split(",")[1:] for line in text.splitlines() if line.startswith("lossy,")]


def loss(rows):
    lines = []
    for recovery, latency, lost, window, *pairs in sorted(rows, key=lambda r: (r[0], int(r[1]), float(r[2]))):
        sent, sent_model, timeouts, timeouts_model, mean, mean_model = pairs
        lines.append([recovery.replace("_", "-"), lost, window, f"{float(sent):.3f}", f"{float(sent_model):.3f}",
                      timeouts, timeouts_model, mean, mean_model])
    return table(["recovery", "loss of a cable", "packets under way", "sent / needed, packets", "(1)",
                  "timeouts of 32 flows, packets", "(2)", "mean end, us, packets", "model"], lines)


def read_table(path):
    columns, *rows = [line.split(",") for line in path.read_text().splitlines() if line[0] != "#"]
    return [dict(zip(columns, row)) for row in rows]


def grouped(rows, *columns):
    """Rows with the same values of these columns, in the order of the table."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found.items()


def median_of(rows, column):
    return statistics.median(float(row[column]) for row in rows)


def overload(folder):
    """(5): the spread of an incast whose senders never slow down."""
    rows = read_table(folder / "overload.csv")
    lines = []
    for key in sorted({(r["recovery"], int(r["degree"]), int(r["queue"])) for r in rows}):
        ends = [float(r["last_us"]) / 1000 for r in rows
                if (r["recovery"], int(r["degree"]), int(r["queue"])) == key]
        lossless = key[1] * 1024 * 4160 * 8 / 400e9 * 1e3  # ms
        lines.append([key[0].replace("_", "-"), f"{key[1]}:1", str(key[2]), f"{lossless:.2f}",
                      f"{statistics.median(ends):.1f}", f"{min(ends):.1f} to {max(ends):.1f}", f"{key[1] - 1}"])
    return table(["recovery", "incast", "queue, packets", "lossless, ms", "packets, median, ms", "range, ms",
                  "rho - 1 timeouts, ms"], lines)


def round_trip(latency):
    """us of a packet and its acknowledgement between leaves of an empty network: four links each way."""
    return 8 * latency / 1e3 + 4 * (study.PAYLOAD + 2 * study.HEADER) * 8 / study.RATE / 1e3


def wait_law(transport, place, latency, senders):
    """us: at each full link NSCC's target, or what the ports that feed it hold when PFC pauses them."""
    feeding = [senders] + ([2] if place == "both" else [])  # two leaves feed the second full link
    full = [ports for ports in feeding if ports > 1]
    if transport == "eqds":
        return 0
    if transport == "uec":
        return len(full) * 0.75 * round_trip(latency)
    return sum(full) * queues.PFC[transport][1] * study.PAYLOAD * 8 / study.RATE / 1e3


def probes(folder):
    names = {"uec": "NSCC", "roce": "PFC only, 20 and 25", "roce_deep": "PFC only, 60 and 75", "eqds": "EQDS"}
    places = {"port": "port of a receiver", "uplink": "uplink of a leaf", "both": "uplink, then link down"}
    lines = []
    for key, rows in grouped(read_table(folder / "probes.csv"), "transport", "place", "latency_ns", "senders"):
        transport, place, latency, senders = key[0], key[1], int(key[2]), int(key[3])
        small = [r for r in rows if int(r["bytes"]) == study.PAYLOAD]
        large = [r for r in rows if int(r["bytes"]) != study.PAYLOAD]
        mean = median_of(small, "mean_us")
        lines.append([names[transport], places[place], str(latency), str(senders), f"{mean:.1f}",
                      f"{median_of(small, 'p95_us'):.1f}", f"{mean / queues.PACKET:.0f}", f"{median_of(large, 'mean_us'):.1f}",
                      f"{wait_law(transport, place, latency, senders):.1f}"])
    return table(["control", "full link", "ns of a link", "flows", "4 KiB waits, mean, us", "p95, us", "packets",
                  "32 KiB, mean, us", "rule, us"], lines)


def below(folder):
    lines = []
    for (load,), rows in grouped(read_table(folder / "below.csv"), "load"):
        rho = float(load)
        lines.append([load, f"{median_of(rows, 'mean_us'):.3f}", f"{median_of(rows, 'p95_us'):.2f}",
                      f"{rho / (2 * (1 - rho)) * queues.PACKET:.3f}"])
    return table(["load", "packets: mean wait, us", "p95, us", "M/D/1, us"], lines)


def order_of(folder):
    """What packets out of order cost NICs, and goodput 1 / (1 + q W)."""
    lines = []
    for key, rows in grouped(read_table(folder / "roce.csv"), "spread", "senders", "spines", "latency_ns", "bytes"):
        spread, senders, spines, latency, size = key[0], *map(int, key[1:])
        of = {nic: [r for r in rows if r["nic"] == nic] for nic in reorder.NICS}
        # Of a ring over random hosts 7 of 63 flows stay below their leaf.
        leaving = 1 if senders else 56 / 63
        q = leaving * reorder.turned((senders or 8) * leaving / spines, spines)
        window = round_trip(latency) / queues.PACKET
        sent = {nic: statistics.median(int(r["sent"]) / int(r["packets"]) for r in of[nic]) for nic in of}
        end = {nic: median_of(of[nic], "last_us") for nic in of}
        lines.append([spread.replace("_", " "), f"{senders} of 8 send" if senders else "ring", str(spines), str(latency),
                      f"{size >> 20}", f"{median_of(of['any_order'], 'turned'):.2f}", f"{q:.2f}",
                      f"{end['any_order']:.0f}",
                      f"{sent['selective_repeat']:.2f}", f"{1 + q:.2f}", f"{end['selective_repeat']:.0f}",
                      f"{sent['go_back_n']:.1f}", f"{1 + q * window:.1f}", f"{end['go_back_n']:.0f}"])
    return table(["spread", "hosts of a leaf", "spines", "ns of a link", "MiB", "q, packets", "q, rule", "any order: end, us",
                  "selective repeat: sent / needed", "1 + q", "end, us", "go-back-N: sent / needed", "1 + q W", "end, us"],
                 lines)


def messages(folder):
    lines = []
    read = read_table(folder / "message.csv")
    for (senders, spines, size), rows in grouped(read, "senders", "spines", "bytes"):
        line = [f"{senders} of 8, {spines} spines", f"{int(size) >> 10}", f"{float(rows[0]['alone_us']):.1f}"]
        for route in reorder.ROUTES:
            own = [r for r in rows if r["route"] == route]
            line += [f"{median_of(own, 'mean_us'):.1f}", f"{median_of(own, 'p95_us'):.1f}"]
        lines.append(line)
    return table(["hosts of a leaf that send", "KiB", "alone, us", "one path: waits, us", "p95", "spray", "p95",
                  "adaptive by packet", "p95"], lines)


def put(page, name, text):
    block = re.compile(rf"(<!-- packets: {name} -->\n).*?(<!-- end -->)", re.S)
    if not block.search(page):
        sys.exit(f"the page has no block {name}")
    return block.sub(lambda m: m[1] + text + "\n" + m[2], page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", required=True)
    parser.add_argument("--page", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    rows = read_rows(subprocess.run([given.rows, "[.rows]"], check=True, capture_output=True, text=True).stdout)
    page = given.page.read_text()
    made = page
    for make in (summary, cases, bystanders):
        made = put(made, make.__name__, make(rows))
    told = subprocess.run([given.rows, "[.lossy]"], check=True, capture_output=True, text=True).stdout
    made = put(made, "loss", loss(read_lossy(told)))
    data = pathlib.Path(__file__).parent.parent / "data/packets"
    made = put(made, "overload", overload(data / "lossy"))
    made = put(made, "probes", probes(data / "queues"))
    made = put(made, "below", below(data / "queues"))
    made = put(made, "order", order_of(data / "reorder"))
    made = put(made, "messages", messages(data / "reorder"))
    if given.update:
        given.page.write_text(made)
    elif made != page:
        sys.exit(f"{given.page} is not what test_packets finds today: run the target update_packets, "
                 "and read the difference")


if __name__ == "__main__":
    main()
