# Shared by the scripts beside it: where things are, and which servers this machine can run.
# shellcheck shell=bash

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}
[[ $cache == /* ]] || cache=$PWD/$cache
servers=(rabbitmq3 rabbitmq4)

# HOLDFAST_SET names a further set of servers of this tree: tests that break servers run beside others of their kind.
set_suffix=${HOLDFAST_SET:+-$HOLDFAST_SET}
state_root=$tree/.services$set_suffix

# The set's own mark makes node and container names unique, so that no tree takes another's process for its own.
mark=$(printf %s "$tree$set_suffix" | sha256sum | cut -c1-8)

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

# dependency_version POM prints the version of the first dependency that a pom names.
dependency_version() { awk -F '[<>]' '$2 == "dependency" { inside = 1 } inside && $2 == "version" { print $3; exit }' "$1"; }

# fetch_jars NAME POM copies the jars that the pom names into the cache, in a folder under the name and the version of
# its first dependency. Needs mvn and Maven Central; quick when they are there.
fetch_jars() (
	name=$1 pom=$2
	jars=$cache/$name-$(dependency_version "$pom")
	if [[ -d $jars ]]; then
		say "$name: there already, in $jars"
		return
	fi
	command -v mvn >/dev/null || die "mvn is not installed: the tests with $name will not run"
	mkdir -p "$cache"
	fresh=$(mktemp -d "$cache/$name.XXXXXX")
	trap 'rm -rf "$fresh"' EXIT
	mvn --quiet --batch-mode --file "$pom" dependency:copy-dependencies -DoutputDirectory="$fresh/jars" ||
		die "Maven Central does not give the jars of $name: the tests with it will not run"
	put_in_place "$fresh/jars" "$jars"
	say "$name: in $jars"
)

# put_in_place FRESH FINAL renames a folder as the last step of making it. Where another setup came first, that one's stays.
put_in_place() { mv -T "$1" "$2" 2>/dev/null || [[ -d $2 ]] || die "cannot make $2"; }
