"""Compares the results of the probe in the virtual machine with the settings of netem.

  soft_roce_check.py CONSOLE

Latency: of 8 bytes, minus the latency of the link without netem. The truth is the delay plus the time of the packet on
the wire. Rate: of messages of 1 MiB. 4096 of 4154 bytes on the wire are payload (the rest is Ethernet, IP, UDP, BTH
with RETH or AETH, ICRC).
"""

import json
import sys

PAYLOAD = 4096 / 4154
WIRE = {"write_latency": 82, "send_latency": 66}  # bytes of a packet with 8 of payload


def results(path):
    """Results by link: (delay in us, rate in Mb/s) -> list of results."""
    links, ended = {}, False
    for line in open(path, errors="replace"):
        if line.startswith("@ end"):
            ended = True
        elif line.startswith("@ "):
            _, delay, rate, text = line.split(" ", 3)
            result = json.loads(text)
            if "key" in result:
                links.setdefault((int(delay), int(rate)), []).append(result)
    return links, ended


def check_doctor(path):
    """Faults in what `doctor` finds on a real kernel: no GPU, and two healthy software devices."""
    line = next((line for line in open(path, errors="replace") if line.startswith("@doctor ")), "@doctor -1 {}")
    _, code, text = line.split(" ", 2)
    report = json.loads(text)
    status = {(f["check"], f["subject"]): f["status"] for f in report.get("findings", [])}
    wanted = {(check, f"{nic} port 1"): "ok" for check in ("link_state", "link_rate", "mtu", "gid_index")
              for nic in ("rxe1", "rxe2")} | {("locked_memory", "host"): "ok", ("devices", "host"): "error"}
    faults = [f"doctor: {key} is {status.get(key)}" for key, value in wanted.items() if status.get(key) != value]
    return faults + ([] if code == "1" and report.get("worst") == "error" else [f"doctor ended with {code}"])


def find(link, what, size, start=0):
    found = [r for r in link if r["what"] == what and r["bytes"] == size and r["peer"]["from"]["rank"] == start]
    if not found:
        sys.exit(f"no {what} of {size} B from rank {start}: the budget was too short")
    return found[0]


def check(links):
    faults = 0
    bare = links.pop((0, 0))
    for (delay, rate), link in links.items():
        for what in ("write_latency", "send_latency"):
            found = find(link, what, 8)["median_us"] - find(bare, what, 8)["median_us"]
            truth = delay + 8 * WIRE[what] / rate
            good = abs(found - truth) <= max(10, 0.06 * truth)
            faults += not good
            print(f"{delay:>5} us {rate:>4} Mb/s  {what:<16} {found:9.1f} us   {'ok' if good else 'OFF'}")
        for what in ("write_bandwidth", "read_bandwidth"):
            for start in (0, 1):
                found = find(link, what, 1 << 20, start)["rate_gbps"] * 8000
                off = found / (rate * PAYLOAD) - 1
                faults += abs(off) > 0.02
                print(f"{delay:>5} us {rate:>4} Mb/s  {what:<16} {found:9.2f} Mb/s {100 * off:+.2f} %"
                      f"{'' if abs(off) <= 0.02 else '  OFF'}")
    return faults


if __name__ == "__main__":
    found, ended = results(sys.argv[1])
    if not ended or len(found) != 6:
        print("".join(open(sys.argv[1], errors="replace").readlines()[-40:]))
        sys.exit("the virtual machine did not finish")
    errors = [r for link in found.values() for r in link if "error" in r]
    for r in errors:
        print(r["key"], r["error"])
    sick = check_doctor(sys.argv[1])
    print("\n".join(sick) or "doctor    ok")
    sys.exit(1 if errors or sick or check(found) else 0)
