import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import {
	ExternalIndex,
	type ExternalIndexOptions,
} from "../../../src/code/external/external-index.ts";
import {
	type Behaviour,
	type JournalEntry,
	mcpKota,
	type Reply,
	readJournal,
} from "../../support/mcp-kota.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

/** An external index on our own server, in a project of a few files. Closed when the test ends. */
export interface TestKota {
	readonly kota: ExternalIndex;
	/** Another connection of the same kind. */
	open(): TestKota["kota"];
	readonly root: string;
	/** What the server has noted. */
	journal(): JournalEntry[];
	/** The numbers of the processes that were started. */
	starts(): number[];
	calls(tool: string): Record<string, unknown>[];
}

/** What `get_index_statistics` says of an indexed project. */
export const STATISTICS: Reply = {
	json: { files: 4, symbols: 9, references: 30, repositories: 1, summary: "4 files" },
};

export function openKota(
	behaviour: Omit<Behaviour, "journal"> = {},
	options: Partial<ExternalIndexOptions> = {},
): TestKota {
	const folder = tempDir("kota");
	const root = options.root ?? join(folder, "shop");
	const journal = join(folder, "journal");
	for (const path of ["src/cart.ts", "src/price.ts", "src/main.ts", "test/cart.test.ts"]) {
		writeAt(join(root, path), "export {};\n");
	}
	const tools = { get_index_statistics: STATISTICS, ...behaviour.tools };
	const open = () => {
		const kota = new ExternalIndex({
			...mcpKota({ ...behaviour, journal, tools }),
			timeoutMs: PATIENCE_MS,
			connectTimeoutMs: PATIENCE_MS,
			env: { KOTADB_PATH: join(folder, "database", "kota.db") },
			...options,
			root,
		});
		atEnd(() => kota.close());
		return kota;
	};
	return {
		kota: open(),
		open,
		root,
		journal: () => readJournal(journal),
		starts: () => readJournal(journal).flatMap((one) => (one.event === "start" ? [one.pid] : [])),
		calls: (tool) =>
			readJournal(journal).flatMap((one) =>
				one.event === "call" && one.tool === tool ? [one.args] : [],
			),
	};
}

/** The same with a program that is nowhere. In a folder of the user's PATH that they may not look into, it could be. */
export function openMissingKota(): TestKota {
	vi.stubEnv("PATH", tempDir());
	atEnd(() => vi.unstubAllEnvs());
	return openKota({}, { command: "no-such-bun", args: [] });
}

/** Whether a process runs. One that has ended but that nobody has collected yet does not. */
export function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
	} catch {
		return false;
	}
	const stat = `/proc/${pid}/stat`;
	return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, "utf8"));
}

function writeAt(path: string, text: string): void {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
}
