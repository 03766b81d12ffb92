import { existsSync, realpathSync } from "node:fs";
import { rm, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import {
	type CallOptions,
	type CodeIndex,
	CodeIndexError,
	type Coverage,
	type IndexStatus,
} from "../../codeindex/index.ts";
import { childEnvironment, databaseOf } from "./child-environment.ts";
import { dependenciesAnswer, dependenciesArguments } from "./dependencies-answer.ts";
import { faults } from "./faults.ts";
import { impactAnswer, impactArguments, lastIndexedMs } from "./impact-answer.ts";
import { createKotaConnection } from "./kota-connection.ts";
import { createLogTail } from "./log-tail.ts";
import { type ProjectFiles, projectFiles } from "./project-files.ts";
import { searchAnswer, searchArguments } from "./search-answer.ts";
import { shapeOf, textOr } from "./shape.ts";
import { taskContextAnswer, taskContextArguments } from "./task-context-answer.ts";
import { usagesAnswer, usagesArguments } from "./usages-answer.ts";

/** How an external KotaDB is started and how long it may take. */
export interface ExternalKotaOptions {
	/** The program, and what it is started with; from the user's own configuration only. */
	readonly command: string;
	readonly args: readonly string[];
	/** The project. */
	readonly root: string;
	/** Time for one question. Indexing has ten times as much. Default: two minutes. */
	readonly timeoutMs?: number;
	/** Time until it answers after a start, which may have to fetch it first. Default: 30 seconds. */
	readonly connectTimeoutMs?: number;
	/**
	 * Added to its environment, of which it otherwise gets little more than PATH and HOME. `KOTADB_PATH` is its
	 * database, by default one for each project in the user's cache folder.
	 */
	readonly env?: Readonly<Record<string, string>>;
	/** Told each line it writes to standard error. */
	readonly onLog?: (line: string) => void;
}

/** A code index that an external KotaDB answers for. */
export interface ExternalKota extends CodeIndex {
	/** The end of what it wrote to standard error, oldest line first, safe to be shown. */
	stderr(): string[];
	/** `failed`: it could not be started, or crashed too often. */
	state(): "stopped" | "starting" | "running" | "failed";
	/** Ends it and starts it anew, whatever happened before. Rejects if it does not come up. */
	restart(): Promise<void>;
}

/**
 * Opens an index on top of KotaDB by Jaymin West, spoken to over MCP. The process is started by the first question and
 * restarted when it crashes. Unlike the index of our own it does not look for changed files: answers are as old as
 * the last `build`, which is what their coverage says, and each `build` takes in everything. What KotaDB does not tell
 * is empty: kinds of edges, packages, exports of changed files, and which files it failed to parse.
 */
export function openExternalKota(options: ExternalKotaOptions): ExternalKota {
	const { command, args, timeoutMs = 120_000, connectTimeoutMs = 30_000, env = {} } = options;
	// KotaDB looks a project up by the name of its real working folder: under any other it would index it again.
	const root = realPath(options.root);
	const repository = `local/${basename(root)}`;
	const database = databaseOf(root, env);
	/** There while the first indexing is not finished, since KotaDB does not tell half an index from a whole one. */
	const unfinished = `${database}.unfinished`;
	const log = createLogTail(options.onLog);
	const connection = createKotaConnection({
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
		state: connection.state,
		restart: connection.restart,
		close: connection.close,

		async status(): Promise<IndexStatus> {
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
			if (isFirst) await noteUnfinished();
			const tool = "index_repository";
			const data = await connection.call({
				tool,
				args: { repository, localPath: root },
				timeoutMs: timeoutMs * 10,
				signal,
				// What it ran out of memory over the first time it would not survive the second time.
				repeat: false,
			});
			const shape = shapeOf(tool);
			const answer = shape.object(data, "the answer");
			const status = shape.text(answer.status, "status");
			if (/fail|error/i.test(status)) throw faults.refused(tool, textOr(answer.message, status));
			const stats = shape.object(answer.stats, "stats");
			const indexed = shape.count(stats.files_indexed, "stats.files_indexed");
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

		search: (query, call) =>
			ask({
				tool: "search",
				call,
				args: () => searchArguments(query),
				read: (data, files) => searchAnswer(data, query, files),
			}),

		dependencies: (query, call) =>
			ask({
				tool: "search_dependencies",
				call,
				args: (files) => dependenciesArguments(query, files),
				read: (data, files) => dependenciesAnswer(data, query, files),
			}),

		usages: (query, call) =>
			ask({
				tool: "find_usages",
				call,
				args: (files) => usagesArguments(query, files),
				read: (data, files) => usagesAnswer(data, query, files),
			}),

		impact: (query, call) =>
			ask({
				tool: "analyze_change_impact",
				call,
				args: (files) => impactArguments(query, files),
				read(data, files) {
					const answer = impactAnswer(data, query, files);
					indexedMs = lastIndexedMs(data) ?? indexedMs;
					return answer;
				},
			}),

		taskContext: (query, call) =>
			ask({
				tool: "generate_task_context",
				call,
				args: (files) => taskContextArguments(query, files),
				read: (data, files) => taskContextAnswer(data, query, files),
			}),

		async symbolMap() {
			throw new CodeIndexError(
				"unavailable",
				'An external KotaDB has no symbol map: set kota.engine to "embedded" for one',
			);
		},
	};

	async function ask<Answer>({
		tool,
		call,
		args,
		read,
	}: Question<Answer>): Promise<Covered<Answer>> {
		const signal = call?.signal;
		const project = projectFiles(root);
		// First of all: a question that cannot be put need not start anything.
		const given = args(project);
		if (!indexedFiles) await readStatistics(signal);
		// Without an index KotaDB would begin to make one, unasked.
		if (!indexedFiles) throw notIndexed(options.root);
		const data = await connection.call({ tool, args: given, timeoutMs, signal, repeat: true });
		return { ...read(data, project), coverage: await coverageNow() };
	}

	async function noteUnfinished(): Promise<void> {
		await writeFile(unfinished, "").catch((error: unknown) => {
			throw faults.noDatabase(database, error);
		});
	}

	async function readStatistics(signal?: AbortSignal): Promise<{ files: number; symbols: number }> {
		const tool = "get_index_statistics";
		const data = await connection.call({ tool, args: {}, timeoutMs, signal, repeat: true });
		const shape = shapeOf(tool);
		const { files, symbols } = shape.object(data, "the answer");
		indexedFiles = shape.count(files, "files");
		return { files: indexedFiles, symbols: shape.count(symbols, "symbols") };
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

/** A question to KotaDB: how it is put, and how its answer is read. */
interface Question<Answer> {
	readonly tool: string;
	readonly call: CallOptions | undefined;
	args(files: ProjectFiles): Record<string, unknown>;
	read(data: unknown, files: ProjectFiles): Answer;
}

type Covered<Answer> = Answer & { readonly coverage: Coverage };

function notIndexed(root: string): CodeIndexError {
	return new CodeIndexError(
		"not-indexed",
		`KotaDB has not indexed ${root} yet: run kota_index, or /kota index`,
	);
}

/** A folder that is not there keeps its name; starting KotaDB in it says what is wrong. */
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
	return {
		bytes: (main?.size ?? 0) + (journal?.size ?? 0),
		...(main && { changedMs: main.mtimeMs }),
	};
}
