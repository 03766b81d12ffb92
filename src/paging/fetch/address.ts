import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type AllowedRanges = readonly Range[];

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [network: Address, prefixBits: number];

/** True for global unicast or an allowed range; mapped IPv4 counts as IPv4. False for names. */
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

/** The part of IPv6 for global use; ipaddr.js calls the rest unicast too. */
const GLOBAL_IPV6: Range = [ipaddr.parse("2000::"), 3];

function isGlobal(address: Address): boolean {
	if (address.kind() === "ipv6" && !contains(GLOBAL_IPV6, address)) return false;
	return address.range() === "unicast";
}

function parse(address: string): Address {
	if (isIP(address) === 4) return ipaddr.parse(address);
	// A zone id (`fe80::1%eth0`) names an interface, not a destination.
	const bare = address.replace(/%.*$/, "");
	// Without dots: ipaddr.js reads the obsolete `::10.0.0.1` as 10.0.0.1; connections go elsewhere.
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
		throw new Error(
			`${JSON.stringify(value)} in paging.allowRanges is not an address range; write it like "10.0.0.0/8" or "fd00::/8", and a single address like "10.0.0.5/32".`,
		);
	}
	const network = parse(address);
	if (family === 6 && network.kind() === "ipv4") {
		throw new Error(
			`${JSON.stringify(value)} in paging.allowRanges never matches, since such addresses are compared as IPv4; write ${network} and the length of its prefix.`,
		);
	}
	return [network, Number(bits)];
}
