import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { PagingError, truncate } from "../errors.ts";

export type AllowedRanges = readonly Range[];

export type IsAllowed = (address: string) => boolean;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [network: Address, prefixBits: number];

/** True for a global address or one in an allowed range; false for a name. Mapped IPv4 counts as IPv4. */
export function isPublicAddress(address: string, allowRanges: AllowedRanges): boolean {
	// ipaddr.js also accepts `0177.1` and the like, which other parsers read differently.
	if (isIP(address) === 0) return false;
	const parsed = parse(address);
	return isGlobal(parsed) || allowRanges.some((range) => contains(range, parsed));
}

/** Parses CIDR ranges (`10.0.0.0/8`, `fd00::/8`). Throws an error that names the invalid one. */
export function parseAllowRanges(list: readonly string[]): AllowedRanges {
	return list.map(parseRange);
}

export function rangeOf(address: string): string {
	const parsed = parse(address);
	return `${parsed}/${parsed.kind() === "ipv4" ? 32 : 128}`;
}

export function addressRefused(host: string, address: string): PagingError {
	const subject = host === address ? address : `${host} has the address ${address}, which`;
	const message = `${subject} is private, local or otherwise not on the public internet, so it is not read. The user can allow it: paging.allowRanges in their own strata.json, for example ["${rangeOf(address)}"].`;
	return new PagingError("address_refused", message);
}

/** The IPv6 range for global unicast. ipaddr.js also reports addresses outside it as unicast. */
const GLOBAL_IPV6: Range = [ipaddr.parse("2000::"), 3];

function isGlobal(address: Address): boolean {
	if (address.kind() === "ipv6" && !contains(GLOBAL_IPV6, address)) return false;
	return address.range() === "unicast";
}

function parse(address: string): Address {
	if (isIP(address) === 4) return ipaddr.parse(address);
	// A zone id (`fe80::1%eth0`) names an interface, not a destination.
	const bare = address.replace(/%.*$/, "");
	// `URL` removes the dots. ipaddr.js reads the obsolete `::10.0.0.1` as 10.0.0.1; a connection does not.
	return ipaddr.process(new URL(`http://[${bare}]`).hostname.slice(1, -1));
}

function contains([network, prefixBits]: Range, address: Address): boolean {
	return network.kind() === address.kind() && address.match(network, prefixBits);
}

function parseRange(value: string): Range {
	const [address = "", bits = "", ...rest] = value.split("/");
	const family = isIP(address);
	const maxBits = family === 4 ? 32 : 128;
	const isRange = family !== 0 && /^\d{1,3}$/.test(bits) && rest.length === 0;
	if (!isRange || Number(bits) > maxBits || address.includes("%")) {
		const message = `${JSON.stringify(value)} in paging.allowRanges is not an address range; write it like "10.0.0.0/8" or "fd00::/8", and a single address like "10.0.0.5/32".`;
		throw new Error(message);
	}
	const network = parse(address);
	if (family === 6 && network.kind() === "ipv4") {
		const message = `${JSON.stringify(value)} in paging.allowRanges never matches, since such addresses are compared as IPv4; write ${network} and the length of its prefix.`;
		throw new Error(message);
	}
	return [network, Number(bits)];
}

/** Returns origin and path for messages. Query and user part may hold secrets. */
export function displayUrl(url: URL): string {
	return truncate(`${url.protocol}//${url.host}${url.pathname}`, 300);
}

export function withoutCredentials(url: URL): URL {
	const copy = new URL(url);
	copy.username = "";
	copy.password = "";
	return copy;
}

export function isWebUrl({ protocol }: URL): boolean {
	return protocol === "http:" || protocol === "https:";
}

export function requireWebUrl(url: URL): void {
	if (!isWebUrl(url)) {
		const message = `${url.protocol} addresses are not fetched; only http: and https: are.`;
		throw new PagingError("unsupported_scheme", message);
	}
	if (BAD_PORTS.has(url.port)) {
		const message = `${url.host} is not read: port ${url.port} is reserved for another service.`;
		throw new PagingError("address_refused", message);
	}
}

/** Checks literal addresses and `localhost`, without resolving names. */
export function requireAllowedHost({ hostname }: URL, isAllowed: IsAllowed): void {
	const host = hostname.replace(/^\[|\]$|\.$/g, "");
	const address = /^(.+\.)?localhost$/.test(host) ? "127.0.0.1" : host;
	if (isIP(address) !== 0 && !isAllowed(address)) throw addressRefused(host, address);
}

/** The Fetch standard's "bad ports": a request there could be misused to talk to other services. */
const BAD_PORTS = new Set(
	(
		"0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 " +
		"119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 " +
		"636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 " +
		"6697 10080"
	).split(" "),
);
