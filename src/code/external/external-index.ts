import { existsSync } from "node:fs";
import { rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, delimiter, isAbsolute, join } from "node:path";
import {
	type BuildReport,
	type CallOptions,
	type CodeIndex,
	CodeIndexError,
	type Coverage,
	type IndexStatus,
} from "../../codeindex/index.ts";
import { hashBytes } from "../../core/hash.ts";
import { realOrGiven } from "../../core/places.ts";
import { projectFiles } from "./answer-part.ts";
import { EngineConnection } from "./engine-connection.ts";
import { faults } from "./faults.ts";
import { createLogTail } from "./log-tail.ts";
import { QUESTIONS, type Query, type Question, type QuestionName } from "./questions.ts";

export interface ExternalIndexOptions {
	/** The program and its arguments. Security: only the user's own configuration sets them. */
	readonly command: string;
	readonly args: readonly string[];
	readonly root: string;
	/** Time limit per question. Indexing gets ten times as much. Default: two minutes. */
	readonly timeoutMs?: number;
	/** Time limit from start to first response. The command may first download KotaDB. Default: 30 s. */
	readonly connectTimeoutMs?: number;
	/** Added to the environment. `KOTADB_PATH` defaults to a per-project file in the user's cache. */
	readonly env?: Readonly<Record<string, string>>;
}

/**
 * KotaDB (by Jaymin West) over MCP. Answers are as old as the last `build`, which indexes all files. It
 * does not report edge kinds, packages, exports of changed files and parse failures: these are empty.
 */
export class ExternalIndex implements CodeIndex {
	readonly root: string;
	/** KotaDB identifies a project by its real working folder. Another path would be indexed again. */
	readonly #realRoot: string;
	readonly #timeoutMs: number;
	readonly #database: string;
	/** A file that exists until the first indexing is done: KotaDB cannot detect a partial index. */
	readonly #unfinished: string;
	readonly #log = createLogTail();
	readonly #connection: EngineConnection;
	#indexedFiles: number | undefined;
	#indexedMs: number | undefined;
	readonly search = this.#question("search");
	readonly dependencies = this.#question("dependencies");
	readonly usages = this.#question("usages");
	readonly impact = this.#question("impact");
	readonly taskContext = this.#question("taskContext");

	constructor(options: ExternalIndexOptions) {
		const { command, args, timeoutMs = 120_000, connectTimeoutMs = 30_000, env = {} } = options;
		this.root = options.root;
		this.#realRoot = realOrGiven(options.root);
		this.#timeoutMs = timeoutMs;
		this.#database = databaseOf(this.#realRoot, env);
		this.#unfinished = `${this.#database}.unfinished`;
		this.#connection = new EngineConnection({
			command,
			args,
			cwd: this.#realRoot,
			env: childEnvironment({ ...env, KOTADB_PATH: this.#database }),
			database: this.#database,
			connectTimeoutMs,
			log: this.#log,
		});
	}

	stderr(): string[] {
		return this.#log.lines();
	}

	close(): Promise<void> {
		return this.#connection.close();
	}

	async status(): Promise<IndexStatus> {
		const statistics = await this.#readStatistics();
		const { bytes, changedMs } = await measure(this.#database);
		const updatedMs = this.#indexedMs ?? changedMs;
		const isPartial = existsSync(this.#unfinished);
		return {
			state: statistics.files === 0 ? "absent" : isPartial ? "partial" : "ready",
			root: this.root,
			database: this.#database,
			bytes,
			...statistics,
			...(statistics.files > 0 && updatedMs !== undefined && { updatedMs }),
		};
	}

	async build({ signal, onProgress }: CallOptions = {}): Promise<BuildReport> {
		const started = performance.now();
		const before = await this.#readStatistics(signal);
		const isFirst = before.files === 0 || existsSync(this.#unfinished);
		onProgress?.({ phase: "parsing", done: 0 });
		if (isFirst) {
			await writeFile(this.#unfinished, "").catch((error: unknown) => {
				throw faults.noDatabase(this.#database, error);
			});
		}
		const tool = "index_repository";
		const answer = await this.#connection.call({
			tool,
			args: { repository: `local/${basename(this.#realRoot)}`, localPath: this.#realRoot },
			timeoutMs: this.#timeoutMs * 10,
			signal,
			// No retry: an out-of-memory crash would repeat.
			retry: false,
		});
		const status = answer.field("status").text();
		if (/fail|error/i.test(status)) {
			throw faults.refused(tool, answer.field("message").textOr(status));
		}
		const indexed = answer.field("stats").field("files_indexed").count();
		await rm(this.#unfinished, { force: true });
		this.#indexedMs = Date.now();
		await this.#readStatistics(signal);
		return {
			coverage: await this.#coverage(),
			added: isFirst ? indexed : 0,
			changed: isFirst ? 0 : indexed,
			removed: 0,
			seconds: (performance.now() - started) / 1000,
		};
	}

	readonly symbolMap: CodeIndex["symbolMap"] = this.#missing("symbol map");
	readonly outline: CodeIndex["outline"] = this.#missing("outline");
	readonly symbol: CodeIndex["symbol"] = this.#missing("text of single symbols");

	#missing(what: string) {
		return async (): Promise<never> => {
			const message = `An external KotaDB has no ${what}: set kota.engine to "embedded" for it`;
			throw new CodeIndexError("unavailable", message);
		};
	}

	#question<N extends QuestionName>(name: N) {
		return (query: Query<N>, options?: CallOptions) => this.#ask(name, query, options);
	}

	async #ask<N extends QuestionName>(name: N, query: Query<N>, { signal }: CallOptions = {}) {
		const { tool, args, read }: Question<N> = QUESTIONS[name];
		const files = projectFiles(this.#realRoot);
		// `args` validates the query before anything is started.
		const given = args(query, files);
		if (!this.#indexedFiles) await this.#readStatistics(signal);
		// Without an index KotaDB would start building one without consent.
		if (!this.#indexedFiles) {
			const message = `KotaDB has not indexed ${this.root} yet: run kota_index, or /kota index`;
			throw new CodeIndexError("not-indexed", message);
		}
		const data = await this.#call(tool, given, signal);
		const answer = read(data, query, files);
		// Only impact answers report the time of indexing.
		const at =
			name === "impact" ? Date.parse(data.field("last_indexed_at").textOr("")) : Number.NaN;
		if (!Number.isNaN(at)) this.#indexedMs = at;
		return { ...answer, coverage: await this.#coverage() };
	}

	async #readStatistics(signal?: AbortSignal): Promise<{ files: number; symbols: number }> {
		const answer = await this.#call("get_index_statistics", {}, signal);
		this.#indexedFiles = answer.field("files").count();
		return { files: this.#indexedFiles, symbols: answer.field("symbols").count() };
	}

	#call(tool: string, args: Record<string, unknown>, signal: AbortSignal | undefined) {
		const timeoutMs = this.#timeoutMs;
		return this.#connection.call({ tool, args, timeoutMs, signal, retry: true });
	}

	async #coverage(): Promise<Coverage> {
		return {
			files: this.#indexedFiles ?? 0,
			unparsed: { count: 0, paths: [] },
			unresolvedImports: 0,
			checkedMs: this.#indexedMs ?? (await measure(this.#database)).changedMs ?? 0,
			refreshedFiles: 0,
			complete: !existsSync(this.#unfinished),
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

/** The complete environment of the child. Other variables are not passed on: some hold API keys. */
export function childEnvironment(
	given: Readonly<Record<string, string>>,
	parent: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
	const env: Record<string, string> = {};
	for (const name of process.platform === "win32" ? WINDOWS_VARS : POSIX_VARS) {
		const value = parent[name];
		if (value !== undefined) env[name] = name === "PATH" ? absoluteEntries(value) : value;
	}
	return { ...env, ...given };
}

const POSIX_VARS = ["PATH", "HOME", "TMPDIR"];
const WINDOWS_VARS = "PATH PATHEXT SYSTEMROOT USERPROFILE APPDATA LOCALAPPDATA TEMP TMP".split(" ");

/** Drops relative entries: the child runs in the repository, which could plant programs there. */
function absoluteEntries(path: string): string {
	return path.split(delimiter).filter(isAbsolute).join(delimiter);
}

/** A path outside the repository, one per project: KotaDB's queries mix all projects of a database. */
export function databaseOf(root: string, given: Readonly<Record<string, string>>): string {
	const name = `${basename(root)}-${hashBytes(root).slice(0, 12)}`;
	return given.KOTADB_PATH || join(homedir(), ".pi", "cache", "pi-kota", "kotadb", name, "kota.db");
}
