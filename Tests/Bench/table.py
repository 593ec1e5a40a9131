"""Writes the table of a benchmark run: medians, ratios, and what they were to reach."""
import datetime, os, platform, statistics, subprocess, sys

folder = sys.argv[1]
rounds, seconds, is_large = os.environ["ROUNDS"], os.environ["SECONDS_EACH"], bool(os.environ["LARGE"])
devices, large, people = (int(os.environ[name]) for name in ("DEVICES", "LARGE_DEVICES", "PEOPLE"))

H2LOAD = "h2load -t1 -c1 -m500, distinct paths, the same nghttpd"
PATHS = [
    ("put", "PUT pushdevices, 64 connections, new and known mixed", "pgbench -c 16, single-row SQL of the same effect on the first schema", ">= 1.6"),
    ("get", "GET lookup, 64 connections", "pgbench -c 16, the same select", ">= 0.7"),
    ("phones", "a phone's 10 newest messages, signed, 64 connections", "pgbench -c 16, the select of the first schema", ">= 0.4"),
    ("read", "pushreadurl, 512 connections, answered after commit", "nginx `return 204`", ">= 0.3"),
    ("page", "rich page, 512 connections", "nginx, a file of the same bytes", ">= 0.25"),
    ("sendout", f"sendout of {devices:,} devices, ledger included", H2LOAD, ">= 0.3"),
    ("fcm", f"sendout of {devices:,} devices to FCM", H2LOAD, ">= 0.2"),
    (
        "shared", f"sendout of {devices:,} devices to HMS, one text for all",
        "h2load -t1 -c1 -m100, requests of 1,000 tokens, the same nghttpd", ">= 3",
    ),
    ("hms", f"sendout of {devices:,} devices to HMS, a text for each", H2LOAD, ">= 0.15"),
    ("wns", f"sendout of {devices:,} devices to WNS", H2LOAD, ">= 0.1"),
    ("web", f"sendout of {devices:,} devices to browsers, each push encrypted", H2LOAD, ">= 0.03"),
    ("crypto", f"sendout of {devices:,} devices to browsers", "encryption alone, on all cores, with keys that swift-crypto makes", ">= 0.6"),
    ("crypto-own", f"sendout of {devices:,} devices to browsers", "the same, with keys made as the hub makes them", "–"),
    ("pywebpush", f"sendout of {devices:,} devices to browsers", "pywebpush with a process for each core", ">= 5"),
    ("fanout", "one change of a data tree told to 10,000 subscriptions at FCM", "sendout to as many devices at FCM", ">= 0.7"),
    ("match", "a write beside 1,000,000 subscriptions, in ms", "beside 1,000, in ms", "<= 2"),
    ("hubs", f"sendout of {devices:,} devices by two hubs on one database", "by one hub", ">= 1.0"),
    (
        "limits", f"sendout of {devices:,} devices in ten zones, with quiet hours, two caps and an exclusion",
        "the same contacts without any of them", ">= 0.85",
    ),
    ("limits-freeze", "freeze of the former, until it is committed", "freeze of the latter", ">= 0.6"),
    ("webhook", f"sendout of {devices:,} devices with a webhook that is told of all events", "without it", ">= 0.9"),
    (
        "delay", f"sendout of {devices:,} devices, replies after 50 ms",
        "replies at once; both through the same proxy, with 6,000 in flight", ">= 0.8",
    ),
    ("message", "single messages, 64 connections, accepted by the push service, no backlog left", "PUT pushdevices, 64 connections", ">= 0.75"),
    ("pnm2", "pushes to softphones, 64 connections, answered with the verdict", "PUT pushdevices, 64 connections", ">= 0.4"),
    ("multisend", "the same in lists of 100, pushes a second", "PUT pushdevices, 64 connections", ">= 0.8"),
    ("gateway", "messages to numbers, 100 a call, accepted by the push service, no backlog left", "PUT pushdevices, 64 connections", ">= 0.7"),
    ("gateway-one", "the same, one a call", "PUT pushdevices, 64 connections", ">= 0.42"),
    ("wait", "single message with `wait` at half of its rate, p99 in ms", "PUT pushdevices at half of its rate, p99 in ms", "<= 3"),
    ("beside", "the same single message while sendouts run, p99 in ms", "without them, p99 in ms", "<= 3"),
]
LARGE_PATHS = [
    ("large", f"sendout of {large:,} devices, ledger included", H2LOAD, ">= 0.3"),
    ("size", f"sendout of {large:,} devices", f"sendout of {devices:,} devices", "0.85 to 1.15"),
    ("freeze", f"freeze of {large:,} devices, until it is committed", "INSERT … SELECT of the same rows in psql, same partitions and indexes", ">= 0.5"),
    (
        "large-limits-freeze", f"freeze of {large:,} devices in ten zones, with quiet hours, two caps and an exclusion",
        "the same contacts without any of them", ">= 0.6",
    ),
    ("preflight", f"preflight of the same {large:,} contacts, in ms", "what it may take, in ms", "<= 1"),
    ("import", f"import of {large:,} rows of ten columns, until all are merged, rows a second", "COPY and one merge by hand in psql, same tables", ">= 0.7"),
    ("export", f"export of these {large:,} contacts into a CSV file, rows a second", "\\copy of the same columns in psql", ">= 0.7"),
    ("import-beside", "PUT pushdevices at half of its rate while a file is imported, p99 in ms", "without it, p99 in ms", "<= 3"),
]


def lines(name):
    with open(os.path.join(folder, name)) as file:
        return [line.split() for line in file if line.strip()]


def median(name):
    return statistics.median(float(line[0]) for line in lines(name))


def cpu():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.processor())


def memory():
    """VmRSS after the start, then after the first and the last round of each figure."""
    figures = {}
    for name, megabytes in lines("memory"):
        figures.setdefault(name, []).append(megabytes)
    return ", ".join(f"{name} {values[0]}" + (f" {values[-1]}" if len(values) > 1 else "") for name, values in figures.items())


server = subprocess.run(["psql", "-Atc", "SHOW server_version"], capture_output=True, text=True).stdout.split()[0]
settings = f"{'LARGE=1 ' if is_large else ''}SECONDS_EACH={seconds} ROUNDS={rounds}"
print("# Figures\n")
print(f"`{settings} make bench` on {datetime.date.today()}: {os.cpu_count()} cores ({cpu()}) shared by hub, PostgreSQL {server},")
print(f"sink and load generator; {rounds} rounds, of p99 three times as many, yardstick and hub in turns; medians, a second unless it says ms. Only the ratio says")
print("anything: both columns move with the machine. `>=` is the least ratio to reach, `<=` the most.\n")
print("| path | yardstick | yardstick | hub | ratio | to reach |")
print("|---|---|---:|---:|---:|---:|")
for name, path, yardstick, reach in PATHS + (LARGE_PATHS if is_large else []):
    ours, theirs = median(name + ".hub"), median(name + ".yardstick")
    digits = 1 if "in ms" in path else 0
    print(f"| {path} | {yardstick} | {theirs:,.{digits}f} | {ours:,.{digits}f} | {ours / theirs:.2f} | {reach} |")
shares = [median(name + ".hub") / median(name + ".yardstick") for name in ("empty", "message")]
print(f"| single messages as a share of PUT, with {int(lines('pushes')[0][0]):,} pushes in the ledger | the same with none | {shares[0]:.2f} | {shares[1]:.2f} | {shares[1] / shares[0]:.2f} | >= 0.95 |")
print(f"| most memory of a hub in all of the above, MB | – | – | {max(int(line[0]) for line in lines('peaks'))} | – | flat, <= 150 |")
print(f"\nMemory of the hub (VmRSS) in MB, after the first and the last round of each: {memory()}.")
print("The hub starts anew before `read`, and before and after `delay`.")
if is_large:
    print(f"\n## Pages\n\nOf the console, for a customer with {people:,} contacts, {2 * people:,} devices and {10 * people:,} pushes: the slowest of")
    print(f"{len(lines('pages'))} kinds, which links lead to. They are to take 50 ms at most (p95 of 100 loads, one at a time), and to have 60 KB at most.\n")
    print("| page | p95, ms | HTML, KB |\n|---|---:|---:|")
    for milliseconds, size, page in lines("pages")[:12]:
        print(f"| `{page}` | {float(milliseconds):.1f} | {int(size) / 1000:.1f} |")
    print("\n## Filters\n\nOf the same customer: an estimate of the contacts (to take 200 ms at most), an exact count (5 s), and the first page of")
    print("contacts (50 ms). Estimate and page are medians of five.\n")
    print("| filter | contacts | estimate, ms | count, ms | page, ms |\n|---|---:|---:|---:|---:|")
    for estimate, count, page, contacts, *words in lines("filters"):
        print(f"| `{' '.join(words)}` | {int(contacts):,} | {estimate} | {count} | {page} |")
else:
    print(f"\nNot run: sendout and freeze of {large:,} devices, and pages beside {people:,} contacts, which `LARGE=1` adds.")
