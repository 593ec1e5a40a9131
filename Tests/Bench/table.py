"""Writes the table of a benchmark run: medians, ratios, and what they were to reach."""
import platform, statistics, subprocess, sys, datetime, os

folder, rounds, devices, idle, busy, peak = sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:7]

PATHS = [
    ("put", "PUT pushdevices, 64 connections, new and known mixed", "pgbench -c 16, single-row SQL of the same effect on the first schema", 1.6),
    ("get", "GET lookup, 64 connections", "pgbench -c 16, the same select", 0.5),
    ("read", "pushreadurl, 512 connections, answered after commit", "nginx `return 204`", 0.3),
    ("page", "rich page, 512 connections", "nginx, a file of the same bytes", 0.25),
    ("sendout", f"sendout of {devices:,} devices, ledger included", "h2load -t1 -c1 -m500, distinct paths, the same nghttpd", 0.02),
    ("message", "single messages, 64 connections, accepted by the push service", "PUT pushdevices, 64 connections", 0.7),
]


def rates(name):
    with open(os.path.join(folder, name)) as file:
        return [float(line) for line in file if line.strip()]


def cpu():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.processor())


server = subprocess.run(["psql", "-Atc", "SHOW server_version"], capture_output=True, text=True).stdout.split()[0]
print("# Figures\n")
seconds = os.environ.get("SECONDS_EACH", "8")
print(f"`SECONDS_EACH={seconds} ROUNDS={rounds} make bench` on {datetime.date.today()}: {os.cpu_count()} cores ({cpu()}) shared by hub, PostgreSQL {server}, sink and")
print(f"load generator; {rounds} rounds, yardstick and hub in turns; medians, a second. Only the ratio says anything: both")
print("columns move with the machine.\n")
print("| path | yardstick | yardstick | hub | ratio | to reach |")
print("|---|---|---:|---:|---:|---:|")
for name, path, yardstick, reach in PATHS:
    ours, theirs = statistics.median(rates(name + ".hub")), statistics.median(rates(name + ".yardstick"))
    print(f"| {path} | {yardstick} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} | {reach} |")
print(f"\nMemory of the hub (VmRSS): {idle} MB idle after its start, {busy} MB after all of the above, {peak} MB at most.")
