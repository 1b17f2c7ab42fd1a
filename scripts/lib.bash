# Shared by the scripts beside it: where things are, and which servers this machine can run.
# shellcheck shell=bash

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}
[[ $cache == /* ]] || cache=$PWD/$cache
servers=(rabbitmq3 rabbitmq4)

# The release that carries RabbitMQ 4.3, and the folder that holds it as a root of its own.
rabbitmq4_suite=forky
rabbitmq4_root=$cache/rabbitmq4-$rabbitmq4_suite

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

# as_root runs a command as root, or fails at once where that would need a password.
as_root() {
	if ((EUID == 0)); then "$@"; else sudo -n -- "$@"; fi
}

can_be_root() { ((EUID == 0)) || sudo -n true 2>/dev/null; }

docker_answers() { command -v docker >/dev/null && timeout 5 docker info >/dev/null 2>&1; }

docker_image() {
	case $1 in
	rabbitmq3) echo rabbitmq:3.10-management ;;
	rabbitmq4) echo rabbitmq:4-management ;;
	esac
}

# package_home NAME prints the server's folder inside its package, as seen from its own root. The wrappers in
# /usr/sbin are of no use: they change user and insist on the system's folders.
package_home() {
	local root='' home
	[[ $1 == rabbitmq4 ]] && root=$rabbitmq4_root
	for home in "$root/usr/lib/rabbitmq/lib/rabbitmq_server-${1#rabbitmq}".*; do
		[[ -x $home/sbin/rabbitmq-server ]] && printf '%s\n' "${home#"$root"}" && return 0
	done
	return 1
}

installed() { package_home "$1" >/dev/null; }
