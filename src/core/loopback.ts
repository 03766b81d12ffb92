import { isIP } from "node:net";

export function isLoopback(host: string): boolean {
	const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
	return bare === "localhost" || bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127."));
}

/** Whether a server at this host listens at all of its machine's addresses. */
export function isEveryAddress(host: string): boolean {
	const bare = host.replace(/^\[(.*)\]$/, "$1");
	return bare === "0.0.0.0" || bare === "::";
}

/** The parts of a `Host` header, the name in lower case; `undefined` if it is malformed. */
export function parseHost(header: string | undefined): { name: string; port?: number } | undefined {
	const pattern = /^(\[[0-9a-f:.]+\]|[^\s:/@\\?#]+)(?::(\d{1,5}))?$/i;
	const [, name, port] = pattern.exec(header ?? "") ?? [];
	if (name === undefined) return undefined;
	return { name: name.toLowerCase(), ...(port !== undefined && { port: Number(port) }) };
}
