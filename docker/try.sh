#!/usr/bin/env bash
# Tries Dockerfile and docker-compose.yml without a container engine: docker/try.sh BINARY [ROOT]
#
# Makes a root of the image's Debian with the packages of the runtime stage alone, and starts the release binary in it as Compose would:
# as the image's user, on a read-only root, without capabilities, with Compose's environment. The database is a PostgreSQL of Compose's
# version that docker/roles.sql set up. All of it is in a network of its own, so no port is taken.
#
# It needs root, debootstrap, and that PostgreSQL (apt-get install debootstrap postgresql-15). ROOT is kept for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
binary=$(realpath "$1")
root=$(realpath -m "${2:-.build/docker-root}")

# ---- What the two files say

# The runtime stage: what follows the last FROM, an instruction a line.
stage=$(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' Dockerfile | tac | sed '/^FROM /q' | tac)
instruction() { sed -n "s/^$1 //p" <<<"$stage"; }
suite=$(instruction FROM | sed -n 's/^debian:\([a-z]*\)-slim$/\1/p')
user=$(instruction USER)
target=$(instruction COPY | sed -n 's/^--from=build \S* //p')
health=$(sed -n 's/^HEALTHCHECK .*CMD //p' <<<"$stage")
entry=$(instruction ENTRYPOINT | tr -d '[]",')
serve=$(instruction CMD | tr -d '[]",')

# The lines `NAME: value` of a service's environment, with variables filled in as Compose does.
environment() {
  awk -v service="$1" '
    /^  [a-z]+:$/ { inside = ($1 == service ":"); listed = 0 }
    inside && /^    [a-z_]+:/ { listed = ($1 == "environment:") }
    inside && listed && /^      [A-Z_]+: / { sub(/^ +/, ""); print }' docker-compose.yml |
    while IFS= read -r line; do
      eval "printf '%s=%s\n' \"${line%%: *}\" \"${line#*: }\""
    done
}
version=$(sed -n 's/^    image: postgres:\([0-9]*\)$/\1/p' docker-compose.yml)
grace=$(sed -n 's/^    stop_grace_period: \([0-9]*\)s$/\1/p' docker-compose.yml)
export POSTGRES_PASSWORD=superuser PUSHCART_OWNER_PASSWORD=owner PUSHCART_HUB_PASSWORD=hub
PUSHCART_MASTER_KEY=$(head -c 32 /dev/urandom | base64)
export PUSHCART_MASTER_KEY
for value in "$suite" "$user" "$target" "$health" "$entry" "$serve" "$version" "$grace" "$(environment hub)"; do
  [ -n "$value" ] || { echo "Dockerfile or docker-compose.yml has another form than this script reads." >&2; exit 1; }
done

# ---- The root

if [ ! -e "$root/.ready" ]; then
  echo "Making a root of $suite in $root"
  debootstrap --variant=minbase "$suite" "$root" http://deb.debian.org/debian
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  while IFS= read -r run; do
    echo "RUN $run"
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -ec "$run"
  done < <(instruction RUN)
  touch "$root/.ready"
fi
install -D -m 755 "$binary" "$root$target"
echo "127.0.0.1 localhost postgres" >"$root/etc/hosts"
mkdir -p "$root/proc" "$root/dev"

# ---- The database and the hub, in namespaces of their own

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
mkdir "$scratch/database" && chown postgres "$scratch/database"
environment migrate >"$scratch/migrate.env"
environment hub >"$scratch/hub.env"
instruction ENV | tr ' ' '\n' >"$scratch/image.env"
cp docker/roles.sql "$scratch/roles.sql"
export root user target health entry serve version grace scratch
export binaries="/usr/lib/postgresql/$version/bin"

unshare --net --mount --pid --fork --mount-proc bash -euo pipefail <<'INSIDE'
mount --make-rprivate /
ip link set lo up

as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env PATH="$binaries:$PATH" "$@"; }
password=$(mktemp -p "$scratch") && printf '%s' "$POSTGRES_PASSWORD" >"$password" && chown postgres "$password"
as_postgres initdb -D "$scratch/database" -U postgres --pwfile="$password" --auth-host=scram-sha-256 >"$scratch/initdb.log"
as_postgres pg_ctl -w -D "$scratch/database" -l "$scratch/database/log" \
  -o "-c listen_addresses=127.0.0.1 -c unix_socket_directories=$scratch/database" start >"$scratch/pg_ctl.log"
# As the image's entry point runs what is in /docker-entrypoint-initdb.d.
as_postgres psql -q -v ON_ERROR_STOP=1 -h "$scratch/database" -U postgres -f "$scratch/roles.sql"
echo "PostgreSQL $version is set up by docker/roles.sql"

mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero random urandom; do touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,ro,bind "$root"

# Runs a program in the root as Compose does, with the environment of a service.
contained() {
  local service=$1 && shift
  local -a variables
  mapfile -t variables < <(cat "$scratch/image.env" "$scratch/$service.env")
  exec chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups --bounding-set=-all --inh-caps=-all \
    --no-new-privs env -i PATH=/usr/local/bin:/usr/bin:/bin "${variables[@]}" "$@"
}

fail() { echo "$1" >&2; [ -e "$scratch/hub.log" ] && cat "$scratch/hub.log" >&2; exit 1; }
if chroot "$root" ldd "$target" | grep "not found"; then fail "The image lacks a library."; fi
if (contained hub touch /written) 2>/dev/null; then fail "The root can be written to."; fi
(contained migrate $entry migrate)
echo "pushcart migrate has migrated"

(contained hub $entry $serve) >"$scratch/hub.log" 2>&1 &
hub=$!
for second in $(seq 20); do
  (contained hub sh -c "$health") >/dev/null 2>&1 && break
  kill -0 "$hub" 2>/dev/null || fail "The hub has ended."
  [ "$second" -lt 20 ] || fail "The hub is not healthy after 20 seconds."
  sleep 1
done
echo "pushcart serve is healthy after $second seconds, by the image's own HEALTHCHECK"

for address in 127.0.0.1:8080/healthz 127.0.0.1:9090/metrics 127.0.0.1:9090/openapi.json; do
  (contained hub curl -fsS -o /dev/null "http://$address") || fail "http://$address does not answer."
done
if (contained hub curl -fsS -o /dev/null http://127.0.0.1:8080/metrics) 2>/dev/null; then
  fail "Clients reach what is for operators."
fi
grep -Eq "^CapEff:\s0+$" "/proc/$hub/status" || fail "The hub has capabilities."
grep -Eq "^NoNewPrivs:\s1$" "/proc/$hub/status" || fail "The hub may gain privileges."
grep -Eq "^Uid:\s[1-9]" "/proc/$hub/status" || fail "The hub is root."
grep -q '^{' "$scratch/hub.log" || fail "The hub does not log in JSON."
echo "It runs as $user without capabilities on a read-only root, and answers clients on 8080 and operators on 9090"

kill -TERM "$hub"
(sleep "$grace" && kill -KILL "$hub") &
wait "$hub" || fail "The hub has not ended by itself within $grace seconds of SIGTERM."
as_postgres pg_ctl -D "$scratch/database" -m fast stop >"$scratch/pg_ctl.log"
echo "It ends by itself at SIGTERM"
INSIDE
echo "Dockerfile and docker-compose.yml hold."
