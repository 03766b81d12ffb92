import { isIP, type LookupFunction, type Socket } from "node:net";
import type { buildConnector } from "undici";
import { PagingError } from "../errors.ts";
import { rangeOf } from "./address.ts";

export interface ResolvedAddress {
	address: string;
	family: number;
}

export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

export type IsAllowed = (address: string) => boolean;

type Connect = buildConnector.connector;

/**
 * Checks literal addresses before connecting and socket addresses before sending. `connect` must
 * use {@link checkedLookup}: it sees the address of the connection, so a name cannot change its
 * answer between check and use.
 */
export function checkedConnect(connect: Connect, isAllowed: IsAllowed): Connect {
	return (options, callback) => {
		const { hostname } = options;
		if (isIP(hostname) !== 0 && !isAllowed(hostname)) {
			callback(addressRefused(hostname, hostname), null);
			return;
		}
		connect(options, (...result) => {
			const [error, socket] = result;
			if (error !== null) return callback(error, null);
			const refusal = refusalOf(socket, hostname, isAllowed);
			if (refusal === undefined) return callback(null, socket);
			socket.destroy();
			callback(refusal, null);
		});
	};
}

/** Fails unless every address of the name is allowed. */
export function checkedLookup(resolve: Resolve, isAllowed: IsAllowed): LookupFunction {
	return (hostname, { all }, callback) => {
		resolveAllowed(hostname, resolve, isAllowed).then(
			([first, ...others]) => {
				if (all) callback(null, [first, ...others]);
				else callback(null, first.address, first.family);
			},
			(error: Error) => callback(error, ""),
		);
	};
}

export function addressRefused(host: string, address: string): PagingError {
	const subject = host === address ? address : `${host} has the address ${address}, which`;
	return new PagingError(
		"address_refused",
		`${subject} is private, local or otherwise not on the public internet, so it is not read. The user can allow it: paging.allowRanges in their own strata.json, for example ["${rangeOf(address)}"].`,
	);
}

function refusalOf(socket: Socket, host: string, isAllowed: IsAllowed): PagingError | undefined {
	const { remoteAddress } = socket;
	if (remoteAddress === undefined) {
		return new PagingError("network", `${host} closed the connection at once.`);
	}
	return isAllowed(remoteAddress) ? undefined : addressRefused(host, remoteAddress);
}

async function resolveAllowed(
	hostname: string,
	resolve: Resolve,
	isAllowed: IsAllowed,
): Promise<[ResolvedAddress, ...ResolvedAddress[]]> {
	const [first, ...others] = await resolve(hostname);
	if (first === undefined) {
		throw new PagingError("network", `${hostname} has no address; check its spelling.`);
	}
	const refused = [first, ...others].find(({ address }) => !isAllowed(address));
	if (refused) throw addressRefused(hostname, refused.address);
	return [first, ...others];
}
