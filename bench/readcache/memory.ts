import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Message, ToolResultMessage } from "@earendil-works/pi-ai";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { type Line, rounded, sized } from "../support.ts";
import { openReadSession, type ReadSession } from "./read-session.ts";
import { createRandom, fileOf, replaced, sourceLines } from "./sample-text.ts";

const looks = sized([1000, 5000, 10_000], [20, 40, 60]);
const reads = looks.at(-1) as number;
const FILE_COUNT = 20;

/** Memory after thousands of reads, in a session that does not grow and in one that does. */
export async function measureMemory(): Promise<Line[]> {
	const still = await measure("still");
	const growing = await measure("growing");
	const { session } = growing;
	const entryCount = session.manager.getEntries().length;
	const pis = await bareEntryBytes(session);
	const beforeRequest = await usedBytes();
	session.ask({ path: pathOf(0) });
	const request = ((await usedBytes()) - beforeRequest) / entryCount;
	await still.session.close();
	await session.close();
	const growth = ({ bytes }: typeof still) => (bytes.at(-1) ?? 0) - (bytes[0] ?? 0);
	const perEntry = growth(growing) / (reads - (looks[0] as number)) / 2;
	return [
		{
			case: "memory: growth from 1,000 to 10,000 reads, session stands still",
			unit: "KB",
			value: growth(still) / 1024,
			target: 512,
			from: megabytesAt(still.bytes),
		},
		{
			case: "memory: growth per entry, session grows",
			unit: "bytes",
			value: perEntry,
			digits: 0,
			baseline: { name: "pi's own", value: pis },
			from: {
				"besides, of each message in the last request": Math.round(request),
				...megabytesAt(growing.bytes),
			},
		},
	];
}

/** Reads the same few files again and again, every fiftieth time changed; samples the memory. */
async function measure(
	kind: "still" | "growing",
): Promise<{ bytes: number[]; session: ReadSession }> {
	const session = await openReadSession();
	const random = createRandom(reads);
	const files = Array.from({ length: FILE_COUNT }, () => sourceLines(100, random));
	for (const [i, lines] of files.entries()) {
		session.write(pathOf(i), fileOf(lines));
		const call = session.ask({ path: pathOf(i) }, { observe: kind === "still" });
		session.record(call, await session.read(call));
	}
	const again = session.ask({ path: pathOf(0) }, { observe: kind === "still" });
	const bytes: number[] = [];
	for (let read = 1; read <= reads; read++) {
		const path = pathOf(read % FILE_COUNT);
		if (read % 50 === 0) {
			const lines = files[read % FILE_COUNT] as string[];
			session.write(path, fileOf(replaced(lines, 1 + (read % 7))));
		}
		const isStill = kind === "still";
		const call = isStill ? { ...again, args: { path } } : session.ask({ path }, { observe: false });
		const answer = await session.read(call);
		if (!isStill) session.record(call, answer);
		if (looks.includes(read)) bytes.push(await usedBytes());
	}
	return { bytes, session };
}

/** Bytes that pi itself holds for each entry of such a session: the same messages in a manager without us. */
async function bareEntryBytes({ manager, cwd }: ReadSession): Promise<number> {
	const before = await usedBytes();
	const bare = SessionManager.inMemory(cwd);
	for (const entry of manager.getEntries()) {
		if (entry.type !== "message") continue;
		const { content, details } = structuredClone(entry.message as ToolResultMessage);
		// Objects that the entries share (a usage of zero tokens) stay shared.
		bare.appendMessage({ ...entry.message, content, ...(details && { details }) } as Message);
	}
	return ((await usedBytes()) - before) / bare.getEntries().length;
}

const collectGarbage = (() => {
	setFlagsFromString("--expose-gc");
	return runInNewContext("gc") as () => void;
})();

async function usedBytes(): Promise<number> {
	await setTimeout(50); // writes to the store finish and free their buffers
	collectGarbage();
	await setTimeout(50); // finalizers
	collectGarbage();
	const { heapUsed, arrayBuffers } = process.memoryUsage();
	return heapUsed + arrayBuffers;
}

function pathOf(i: number): string {
	return `src/file-${i}.ts`;
}

function megabytesAt(bytes: number[]): Record<string, number> {
	return Object.fromEntries(
		looks.map((read, i) => [`MB at ${read}`, rounded((bytes[i] ?? 0) / 1024 / 1024, 2)]),
	);
}
