import { existsSync, realpathSync } from "node:fs";
import { rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, delimiter, isAbsolute, join } from "node:path";
import {
	type CallOptions,
	type CodeIndex,
	CodeIndexError,
	type Coverage,
} from "../../codeindex/index.ts";
import { hashBytes } from "../../core/hash.ts";
import { Part } from "./answer-part.ts";
import { faults } from "./faults.ts";
import { KotaConnection } from "./kota-connection.ts";
import { createLogTail } from "./log-tail.ts";
import { projectFiles } from "./project-files.ts";
import {
	lastIndexedMs,
	QUESTIONS,
	type Query,
	type Question,
	type QuestionName,
} from "./questions.ts";

/** How an external KotaDB is started and how long it may take. */
export interface ExternalKotaOptions {
	/** The program and its arguments; from the user's own configuration only. */
	readonly command: string;
	readonly args: readonly string[];
	/** The project. */
	readonly root: string;
	/** Time for one question. Indexing has ten times as much. Default: two minutes. */
	readonly timeoutMs?: number;
	/** Time until it answers after a start, which may have to fetch it first. Default: 30 seconds. */
	readonly connectTimeoutMs?: number;
	/** Added to its environment. `KOTADB_PATH` is its database, by default one for each project in the user's cache. */
	readonly env?: Readonly<Record<string, string>>;
	/** Called for each line it writes to standard error. */
	readonly onLog?: (line: string) => void;
}

/** A code index that an external KotaDB answers for. */
export interface ExternalKota extends CodeIndex {
	/** The end of what it wrote to standard error, oldest line first, safe to be shown. */
	stderr(): string[];
	/** `failed`: it could not be started, or crashed too often. */
	state(): KotaConnection["state"];
	/** Ends it and starts it again, whatever happened before. Rejects if it does not come up. */
	restart(): Promise<void>;
}

/**
 * Opens an index on top of KotaDB by Jaymin West, spoken to over MCP. The process is started by the first question and
 * restarted when it crashes. Unlike our own index it does not look for changed files: answers are as old as the last
 * `build`, as their coverage says, and each `build` takes in everything. What KotaDB does not tell is empty: kinds of
 * edges, packages, exports of changed files, and which files it failed to parse.
 */
export function openExternalKota(options: ExternalKotaOptions): ExternalKota {
	const { command, args, timeoutMs = 120_000, connectTimeoutMs = 30_000, env = {} } = options;
	// KotaDB looks a project up by the name of its real working folder: under any other it would index it again.
	const root = realPath(options.root);
	const database = databaseOf(root, env);
	/** There while the first indexing is not finished, since KotaDB does not tell half an index from a whole one. */
	const unfinished = `${database}.unfinished`;
	const log = createLogTail(options.onLog);
	const connection = new KotaConnection({
		command,
		args,
		cwd: root,
		env: childEnvironment({ ...env, KOTADB_PATH: database }),
		database,
		connectTimeoutMs,
		log,
	});
	/** As far as it is known. */
	let indexedFiles: number | undefined;
	let indexedMs: number | undefined;

	return {
		root: options.root,
		stderr: log.lines,
		state: () => connection.state,
		restart: () => connection.restart(),
		close: () => connection.close(),

		async status() {
			const statistics = await readStatistics();
			const { bytes, changedMs } = await measure(database);
			const updatedMs = indexedMs ?? changedMs;
			return {
				state: statistics.files === 0 ? "absent" : existsSync(unfinished) ? "partial" : "ready",
				root: options.root,
				database,
				bytes,
				...statistics,
				...(statistics.files > 0 && updatedMs !== undefined && { updatedMs }),
			};
		},

		async build({ signal, onProgress } = {}) {
			const started = performance.now();
			const before = await readStatistics(signal);
			const isFirst = before.files === 0 || existsSync(unfinished);
			onProgress?.({ phase: "parsing", done: 0 });
			if (isFirst) {
				await writeFile(unfinished, "").catch((error: unknown) => {
					throw faults.noDatabase(database, error);
				});
			}
			const tool = "index_repository";
			const data = await connection.call({
				tool,
				args: { repository: `local/${basename(root)}`, localPath: root },
				timeoutMs: timeoutMs * 10,
				signal,
				// What it ran out of memory over the first time it would not survive the second time.
				repeat: false,
			});
			const answer = new Part(tool, data);
			const status = answer.field("status").text();
			if (/fail|error/i.test(status)) {
				throw faults.refused(tool, answer.field("message").textOr(status));
			}
			const indexed = answer.field("stats").field("files_indexed").count();
			await rm(unfinished, { force: true });
			indexedMs = Date.now();
			await readStatistics(signal);
			return {
				coverage: await coverageNow(),
				added: isFirst ? indexed : 0,
				changed: isFirst ? 0 : indexed,
				removed: 0,
				seconds: (performance.now() - started) / 1000,
			};
		},

		search: (query, call) => ask("search", query, call),
		dependencies: (query, call) => ask("dependencies", query, call),
		usages: (query, call) => ask("usages", query, call),
		impact: (query, call) => ask("impact", query, call),
		taskContext: (query, call) => ask("taskContext", query, call),
		async symbolMap() {
			const message = 'An external KotaDB has no symbol map: set kota.engine to "embedded" for one';
			throw new CodeIndexError("unavailable", message);
		},
	};

	async function ask<N extends QuestionName>(name: N, query: Query<N>, call?: CallOptions) {
		const { tool, args, read }: Question<N> = QUESTIONS[name];
		const signal = call?.signal;
		const files = projectFiles(root);
		// First of all: a question that cannot be put need not start anything.
		const given = args(query, files);
		if (!indexedFiles) await readStatistics(signal);
		// Without an index KotaDB would begin to make one, unasked.
		if (!indexedFiles) {
			const message = `KotaDB has not indexed ${options.root} yet: run kota_index, or /kota index`;
			throw new CodeIndexError("not-indexed", message);
		}
		const data = await connection.call({ tool, args: given, timeoutMs, signal, repeat: true });
		const answer = read(data, query, files);
		if (name === "impact") indexedMs = lastIndexedMs(data) ?? indexedMs;
		return { ...answer, coverage: await coverageNow() };
	}

	async function readStatistics(signal?: AbortSignal): Promise<{ files: number; symbols: number }> {
		const tool = "get_index_statistics";
		const data = await connection.call({ tool, args: {}, timeoutMs, signal, repeat: true });
		const answer = new Part(tool, data);
		indexedFiles = answer.field("files").count();
		return { files: indexedFiles, symbols: answer.field("symbols").count() };
	}

	async function coverageNow(): Promise<Coverage> {
		return {
			files: indexedFiles ?? 0,
			unparsed: { count: 0, paths: [] },
			unresolvedImports: 0,
			checkedMs: indexedMs ?? (await measure(database)).changedMs ?? 0,
			refreshedFiles: 0,
			complete: !existsSync(unfinished),
		};
	}
}

/** A missing folder keeps its name; starting KotaDB in it says what is wrong. */
function realPath(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return path;
	}
}

/** The size of a database with its journal, and when it last changed; nothing if it is not where it should be. */
async function measure(database: string): Promise<{ bytes: number; changedMs?: number }> {
	const [main, journal] = await Promise.all(
		[database, `${database}-wal`].map((path) => stat(path).catch(() => undefined)),
	);
	const bytes = (main?.size ?? 0) + (journal?.size ?? 0);
	return { bytes, ...(main && { changedMs: main.mtimeMs }) };
}

/** The whole environment of an external KotaDB. Nothing else of ours is passed on, since that is where API keys are. */
export function childEnvironment(
	given: Readonly<Record<string, string>>,
	parent: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
	const env: Record<string, string> = {};
	for (const name of process.platform === "win32" ? WINDOWS_NAMES : POSIX_NAMES) {
		const value = parent[name];
		if (value !== undefined) env[name] = name === "PATH" ? absoluteEntries(value) : value;
	}
	return { ...env, ...given };
}

const POSIX_NAMES = ["PATH", "HOME", "TMPDIR"];
const WINDOWS_NAMES = "PATH PATHEXT SYSTEMROOT USERPROFILE APPDATA LOCALAPPDATA TEMP TMP".split(
	" ",
);

/** The child works in the repository: a relative entry would let the repository bring the programs. */
function absoluteEntries(path: string): string {
	return path.split(delimiter).filter(isAbsolute).join(delimiter);
}

/**
 * Where KotaDB keeps its database. Its own default lies in the repository, which we never write to; and as its queries
 * join over all projects of a database, each project needs its own.
 */
export function databaseOf(root: string, given: Readonly<Record<string, string>>): string {
	const name = `${basename(root)}-${hashBytes(root).slice(0, 12)}`;
	return given.KOTADB_PATH || join(homedir(), ".pi", "cache", "pi-kota", "kotadb", name, "kota.db");
}
