#!/bin/sh
# Makes a private authority, and a certificate signed by it for the names and addresses of all servers.
#
#   sh certificates.sh <folder> <name or address>…
set -eu
umask 077
if [ $# -lt 2 ]; then
	echo "usage: sh certificates.sh <folder> <name or address>…" >&2
	exit 2
fi
mkdir -p "$1"
cd "$1"
shift
names=
for name; do
	case $name in
		*[!0-9.]*) kind=DNS ;;
		*) kind=IP ;;
	esac
	names="$names${names:+,}$kind:$name"
done
curve="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
if [ ! -f authority.key ]; then
	openssl req -x509 $curve -days 3650 -subj "/CN=strata authority" -keyout authority.key -out authority.pem
fi
openssl req $curve -subj "/CN=strata" -keyout key.pem -out request.pem
echo "subjectAltName=$names" > names.txt
openssl x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial -days 825 \
	-extfile names.txt -out certificate.pem
rm request.pem names.txt
chmod 644 authority.pem certificate.pem
