import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Address ranges that may be reached although they are not public; made by {@link parseAllowRanges}. */
export type AllowedRanges = readonly Range[];

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [network: Address, prefixBits: number];

/**
 * Whether an IP address may be connected to: a globally routed unicast address, or one inside an allowed range.
 * An IPv4 address in IPv6 clothes (`::ffff:…`) is judged as the IPv4 address. False for anything that is not an
 * address in the usual spelling, names included.
 */
export function isPublicAddress(address: string, allowRanges: AllowedRanges): boolean {
	// ipaddr.js also takes `0177.1` and the like, which other parsers read otherwise.
	if (isIP(address) === 0) return false;
	const parsed = parse(address);
	return isGlobal(parsed) || allowRanges.some((range) => contains(range, parsed));
}

/** Reads a list of CIDR ranges (`10.0.0.0/8`, `fd00::/8`). Throws an error that names the value which is none. */
export function parseAllowRanges(list: readonly string[]): AllowedRanges {
	return list.map(parseRange);
}

/** The range that holds one address alone, as {@link parseAllowRanges} takes it. */
export function rangeOf(address: string): string {
	const parsed = parse(address);
	return `${parsed}/${parsed.kind() === "ipv4" ? 32 : 128}`;
}

/** All of IPv6 that is given out for global use; ipaddr.js calls the rest of the space unicast too. */
const GLOBAL_IPV6: Range = [ipaddr.parse("2000::"), 3];

function isGlobal(address: Address): boolean {
	if (address.kind() === "ipv6" && !contains(GLOBAL_IPV6, address)) return false;
	return address.range() === "unicast";
}

/** Reads an address; a mapped IPv4 one as IPv4. */
function parse(address: string): Address {
	if (isIP(address) === 4) return ipaddr.parse(address);
	// A zone id (`fe80::1%eth0`) says through which interface, not where to.
	const bare = address.replace(/%.*$/, "");
	// Without dots: ipaddr.js takes the obsolete `::10.0.0.1` for 10.0.0.1, but connections go elsewhere.
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
