import { isIP } from "node:net";
import { PagingError } from "../errors.ts";
import { addressRefused, type IsAllowed } from "./checked-connect.ts";

/** For messages: origin and path, since query and user part may hold secrets. */
export function shownUrl(url: URL): string {
	const shown = `${url.protocol}//${url.host}${url.pathname}`;
	return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
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
		throw new PagingError(
			"unsupported_scheme",
			`${url.protocol} addresses are not fetched; only http: and https: are.`,
		);
	}
	if (BAD_PORTS.has(url.port)) {
		throw new PagingError(
			"address_refused",
			`${url.host} is not read: port ${url.port} belongs to another service than the web.`,
		);
	}
}

/** Checks literal addresses and `localhost`, without resolving. */
export function requireAllowedHost({ hostname }: URL, isAllowed: IsAllowed): void {
	const host = hostname.replace(/^\[|\]$|\.$/g, "");
	const address = /^(.+\.)?localhost$/.test(host) ? "127.0.0.1" : host;
	if (isIP(address) !== 0 && !isAllowed(address)) throw addressRefused(host, address);
}

const MAX_SHOWN = 300;

/** The Fetch standard's "bad ports": a request could be made to talk to other services. */
const BAD_PORTS = new Set(
	(
		"0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 " +
		"119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 " +
		"636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 " +
		"6697 10080"
	).split(" "),
);
