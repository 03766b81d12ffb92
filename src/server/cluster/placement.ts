import { hash } from "node:crypto";
import { sep } from "node:path";
import type { StreamName } from "../journal/journal.ts";

/** A living server, as the others know it. */
export interface Server {
	readonly id: string;
	/** Its data folder, which outlives the process. */
	readonly home: string;
	/** Where clients and servers reach it. */
	readonly address: string;
	/** Folders whose sessions it takes. Empty: all. */
	readonly workspaces: readonly string[];
	/** False for a pure gateway, and for a server that stops. */
	readonly takesSessions: boolean;
	/** How many more sessions it can take. */
	readonly room: number;
	readonly sessions: number;
}

/**
 * The servers that may take a session, the best first. All servers compute the same order, so commands for one
 * session meet at one server, and a server that comes or goes moves only its own share (rendezvous hashing).
 */
export function placement(
	servers: readonly Server[],
	{ principal, sessionId }: StreamName,
	cwd: string | undefined,
): Server[] {
	return servers
		.filter((server) => server.takesSessions && server.room > 0 && covers(server.workspaces, cwd))
		.map((server) => ({
			server,
			score: hash("sha256", JSON.stringify([server.home, principal, sessionId])),
		}))
		.sort((a, b) => (a.score < b.score ? -1 : 1))
		.map(({ server }) => server);
}

/** A session without a folder of its own starts where the server chooses. */
export function covers(workspaces: readonly string[], cwd: string | undefined): boolean {
	if (workspaces.length === 0 || cwd === undefined) return true;
	return workspaces.some((folder) => {
		const prefix = folder.endsWith(sep) ? folder : `${folder}${sep}`;
		return cwd === folder || cwd.startsWith(prefix);
	});
}
