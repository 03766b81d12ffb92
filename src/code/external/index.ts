import { existsSync } from "node:fs";
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
import { realOrGiven } from "../../core/places.ts";
import { projectFiles } from "./answer-part.ts";
import { faults } from "./faults.ts";
import { KotaConnection } from "./kota-connection.ts";
import { createLogTail } from "./log-tail.ts";
import { QUESTIONS, type Query, type Question, type QuestionName } from "./questions.ts";

export interface ExternalKotaOptions {
	/** The program and its arguments. Security: taken from the user's own configuration only. */
	readonly command: string;
	readonly args: readonly string[];
	readonly root: string;
	/** Per question. Indexing gets ten times as much. Default: two minutes. */
	readonly timeoutMs?: number;
	/** From start to first response; the command may download KotaDB first. Default: 30 seconds. */
	readonly connectTimeoutMs?: number;
	/** Added to the environment. `KOTADB_PATH` defaults to a per-project file in the user's cache. */
	readonly env?: Readonly<Record<string, string>>;
}

/**
 * Opens an index backed by KotaDB (by Jaymin West) over MCP. The first question starts it. Answers
 * are as old as the last `build`, which indexes everything. Not reported, so empty: edge kinds,
 * packages, exports of changed files, parse failures.
 */
export function openExternalKota(options: ExternalKotaOptions): CodeIndex & { stderr(): string[] } {
	const { command, args, timeoutMs = 120_000, connectTimeoutMs = 30_000, env = {} } = options;
	// KotaDB keys a project by its real working folder. Any other path would index it again.
	const root = realOrGiven(options.root);
	const database = databaseOf(root, env);
	/** Exists until the first indexing completes: KotaDB cannot detect a partial index. */
	const unfinished = `${database}.unfinished`;
	const log = createLogTail();
	const connection = new KotaConnection({
		command,
		args,
		cwd: root,
		env: childEnvironment({ ...env, KOTADB_PATH: database }),
		database,
		connectTimeoutMs,
		log,
	});
	let indexedFiles: number | undefined;
	let indexedMs: number | undefined;

	return {
		root: options.root,
		stderr: log.lines,
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
			const answer = await connection.call({
				tool,
				args: { repository: `local/${basename(root)}`, localPath: root },
				timeoutMs: timeoutMs * 10,
				signal,
				// No retry: an out-of-memory crash would repeat.
				repeat: false,
			});
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
		// Validates before anything is started.
		const given = args(query, files);
		if (!indexedFiles) await readStatistics(signal);
		// Without an index KotaDB would start building one without consent.
		if (!indexedFiles) {
			const message = `KotaDB has not indexed ${options.root} yet: run kota_index, or /kota index`;
			throw new CodeIndexError("not-indexed", message);
		}
		const data = await connection.call({ tool, args: given, timeoutMs, signal, repeat: true });
		const answer = read(data, query, files);
		// Only impact answers report it.
		const at =
			name === "impact" ? Date.parse(data.field("last_indexed_at").textOr("")) : Number.NaN;
		if (!Number.isNaN(at)) indexedMs = at;
		return { ...answer, coverage: await coverageNow() };
	}

	async function readStatistics(signal?: AbortSignal): Promise<{ files: number; symbols: number }> {
		const tool = "get_index_statistics";
		const answer = await connection.call({ tool, args: {}, timeoutMs, signal, repeat: true });
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

async function measure(database: string): Promise<{ bytes: number; changedMs?: number }> {
	const [main, journal] = await Promise.all(
		[database, `${database}-wal`].map((path) => stat(path).catch(() => undefined)),
	);
	const bytes = (main?.size ?? 0) + (journal?.size ?? 0);
	return { bytes, ...(main && { changedMs: main.mtimeMs }) };
}

/** The complete child environment. Nothing else is passed on: our environment holds API keys. */
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

/** The child runs in the repository: relative PATH entries would let it supply the programs. */
function absoluteEntries(path: string): string {
	return path.split(delimiter).filter(isAbsolute).join(delimiter);
}

/**
 * KotaDB's default is inside the repository, which we never write to. One per project: its queries
 * join all projects of a database.
 */
export function databaseOf(root: string, given: Readonly<Record<string, string>>): string {
	const name = `${basename(root)}-${hashBytes(root).slice(0, 12)}`;
	return given.KOTADB_PATH || join(homedir(), ".pi", "cache", "pi-kota", "kotadb", name, "kota.db");
}
