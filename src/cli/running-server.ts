import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { errnoOf } from "../core/errno.ts";
import { property } from "../core/property.ts";

/** Where a server of this user can be reached. It holds no token. */
export interface ServerAddress {
	readonly pid: number;
	readonly url?: string;
	readonly socket?: string;
	readonly tokenFile?: string;
}

function addressFile(dataDir: string): string {
	return join(dataDir, "running.json");
}

/** Best effort: without it, other programs of this user do not find the server. */
export async function noteRunning(dataDir: string, address: ServerAddress): Promise<void> {
	await writeFileAtomic(addressFile(dataDir), JSON.stringify(address)).catch(() => {});
}

export async function noteStopped(dataDir: string): Promise<void> {
	const found = await addressIn(dataDir);
	if (found?.pid === process.pid) await rm(addressFile(dataDir), { force: true }).catch(() => {});
}

/** The server that uses this data folder; `undefined` if none runs, or if it does not answer. */
export async function runningServer(dataDir: string): Promise<ServerAddress | undefined> {
	const address = await addressIn(dataDir);
	if (!address || !isRunning(address.pid)) return undefined;
	// A certificate that this process does not trust is no reason to doubt the server.
	if (!address.url?.startsWith("http:")) return address;
	// Another process may have the id of a server that was killed.
	const answer = await fetch(new URL("healthz", address.url), {
		signal: AbortSignal.timeout(PROBE_MS),
	}).catch(() => undefined);
	await answer?.body?.cancel();
	return answer ? address : undefined;
}

const PROBE_MS = 2_000;

async function addressIn(dataDir: string): Promise<ServerAddress | undefined> {
	try {
		const found: unknown = JSON.parse(await readFile(addressFile(dataDir), "utf8"));
		const pid = property(found, "pid");
		if (!Number.isSafeInteger(pid)) return undefined;
		const text = (name: string) => {
			const value = property(found, name);
			return typeof value === "string" ? { [name]: value } : {};
		};
		return { pid: Number(pid), ...text("url"), ...text("socket"), ...text("tokenFile") };
	} catch {
		return undefined; // none has run here
	}
}

function isRunning(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return errnoOf(error) === "EPERM";
	}
}
