import type {
	AnswerOf,
	Asked,
	BuildReport,
	CallOptions,
	CodeIndex,
	Covered,
	IndexProgress,
	IndexStatus,
	QueryOf,
	QuestionName,
} from "../codeindex/index.ts";
import { AbortedError } from "../core/aborted.ts";
import type { Config } from "../core/config.ts";
import { property } from "../core/property.ts";
import { Waiters } from "../core/waiters.ts";
import { depsForms, impactForms, symbolMapForms, taskContextForms } from "./files-text.ts";
import { coverageLine, type Draft, type Reader } from "./outline.ts";
import { searchForms, usagesForms } from "./symbols-text.ts";
import {
	type DepsInput,
	type SearchInput,
	searchQuery,
	type TaskContextInput,
	type UsagesInput,
} from "./tools.ts";

interface Engine extends CodeIndex {
	/** The last stderr lines of an external engine, sanitized for display. */
	stderr?(): readonly string[];
}

/** Opens the configured engine. Its code is loaded lazily, with the first question. */
export async function openEngine(settings: Config["kota"], root: string): Promise<Engine> {
	if (settings.engine === "external") {
		const { openExternalKota } = await import("./external/index.ts");
		const { command, args, timeoutSeconds } = settings;
		return openExternalKota({ command, args, root, timeoutMs: timeoutSeconds * 1000 });
	}
	const { openCodeIndex } = await import("../codeindex/index.ts");
	return openCodeIndex({ root });
}

interface Inputs extends Record<QuestionName, object> {
	search: SearchInput;
	dependencies: DepsInput;
	usages: UsagesInput;
	impact: QueryOf<"impact">;
	taskContext: TaskContextInput;
	symbolMap: QueryOf<"symbolMap">;
}

/** Maps a question to its query and to the forms of its answer, fullest first. */
const topics: {
	readonly [Name in QuestionName]: {
		query(input: Inputs[Name]): QueryOf<Name>;
		forms(answer: AnswerOf<Name>, input: Inputs[Name], reader: Reader): Draft["forms"];
	};
} = {
	search: { query: searchQuery, forms: searchForms },
	dependencies: { query: same, forms: depsForms },
	usages: { query: same, forms: usagesForms },
	impact: { query: same, forms: impactForms },
	taskContext: { query: same, forms: taskContextForms },
	symbolMap: { query: same, forms: symbolMapForms },
};

function same<Input>(input: Input): Input {
	return input;
}

export interface Asking {
	readonly project: KotaProject;
	readonly paths: Reader;
	readonly asker: Asker;
}

/** The text of the answer is made on request. */
export async function answerTo<Name extends QuestionName>(
	name: Name,
	input: Inputs[Name],
	{ project, paths, asker }: Asking,
): Promise<{ readonly answer: AnswerOf<Name>; draft(nowMs: number): Draft }> {
	const { query, forms } = topics[name];
	const answer = await project.ask(name, query(input), asker);
	const { coverage }: Covered = answer;
	const draft = (nowMs: number) => ({
		forms: forms(answer, input, paths),
		lastLine: coverageLine(coverage, nowMs, paths.advice),
	});
	return { answer, draft };
}

interface ProjectOptions {
	readonly root: string;
	readonly confirmIndex: boolean;
	open(): Promise<Engine>;
	/** Called when `state` or `indexed` changes, and with indexing progress. */
	onChange?(progress?: IndexProgress): void;
}

export interface Asker extends CallOptions {
	/** Asks for consent to the first indexing; absent without a user. */
	readonly confirm?: (status: IndexStatus) => Promise<boolean>;
}

export type KotaProject = ReturnType<typeof createKotaProject>;

/** A session's view of the index. An existing index implies consent; a no lasts for the session. */
export function createKotaProject({ root, confirmIndex, open, onChange }: ProjectOptions) {
	let engine: Promise<Engine> | undefined;
	let stderr = (): readonly string[] => [];
	let building: ReturnType<typeof beginBuild> | undefined;
	let asking: Waiters<Consent> | undefined;
	let declined = false;

	const project = {
		root,
		state: "stopped" as "stopped" | "starting" | "running",
		indexed: "unknown" as IndexStatus["state"] | "unknown",
		ask,
		build,
		status,
		stderr: () => stderr(),
		close,
	};
	return project as Readonly<typeof project>;

	/** Builds the index first if there is none and the user consents. */
	async function ask<Name extends QuestionName>(
		name: Name,
		query: QueryOf<Name>,
		asker: Asker = {},
	): Promise<AnswerOf<Name>> {
		const put = async () => {
			let isReported = false;
			const onProgress = (progress: IndexProgress) => {
				if (progress.phase === "scanning" || (progress.total ?? 0) < MANY_FILES) return;
				isReported = true;
				asker.onProgress?.(progress);
				onChange?.(progress);
			};
			try {
				const options = { ...(asker.signal && { signal: asker.signal }), onProgress };
				const answer = await withEngine((index: Asked) => index[name](query, options));
				noteCoverage(answer);
				return answer;
			} finally {
				if (isReported) onChange?.();
			}
		};
		try {
			return await put();
		} catch (error) {
			if (property(error, "code") !== "not-indexed") throw error;
		}
		await build(asker);
		return await put();
	}

	/** Builds or refreshes. `given`: the user requested it, which is consent. */
	async function build(
		asker: Asker = {},
		consent: "given" | "needed" = "needed",
	): Promise<BuildReport> {
		if (consent === "needed") await needConsent(asker);
		if (asker.signal?.aborted) throw new AbortedError(asker.signal.reason);
		declined = false;
		const shared = building ?? beginBuild();
		shared.askers.add(asker);
		try {
			return await shared.waiters.join(asker.signal);
		} finally {
			shared.askers.delete(asker);
		}
	}

	/** Concurrent callers share one build: parallel tool calls start at the same time. */
	function beginBuild() {
		const waiters = new Waiters<BuildReport>(leaving);
		const { signal } = waiters;
		const shared = { waiters, askers: new Set<Asker>() };
		building = shared;
		const end = () => {
			if (building === shared) building = undefined;
		};
		const onProgress = (progress: IndexProgress) => {
			for (const asker of shared.askers) asker.onProgress?.(progress);
			onChange?.(progress);
		};
		// Later callers must not join an aborted build.
		signal.addEventListener("abort", end);
		withEngine((index) => index.build({ signal, onProgress }))
			.then((report) => {
				noteCoverage(report);
				return report;
			})
			.finally(() => {
				end();
				onChange?.();
			})
			.then(
				(report) => waiters.resolve(report),
				(error) => waiters.reject(error),
			);
		return shared;
	}

	/** An existing index, even partial or in progress, implies consent. */
	async function needConsent(asker: Asker): Promise<void> {
		// The engine would not respond to `status` during a build.
		while (!building) {
			const found = await status();
			if (building || found.state !== "absent" || !confirmIndex) return;
			if (declined) throw new Error(DECLINED);
			if (asker.signal?.aborted) throw new AbortedError(asker.signal.reason);
			const consent = asking ? await asking.join(asker.signal) : await askUser(found, asker);
			if (consent === "yes") return;
			if (consent === "no") throw new Error(DECLINED);
		}
	}

	async function askUser(found: IndexStatus, { confirm, signal }: Asker): Promise<Consent> {
		if (!confirm) {
			throw new Error(
				`${root} is not indexed yet, and there is nobody to ask whether it may be: run \`strata index\` there, or set kota.confirmIndex to false in the user's strata.json`,
			);
		}
		const others = new Waiters<Consent>(leaving);
		asking = others;
		let consent: Consent = "unsaid";
		try {
			if (await confirm(found)) consent = "yes";
			// An aborted dialog returns no, which is not the user's decision.
			else if (!signal?.aborted) consent = "no";
			if (consent === "no") declined = true;
			return consent;
		} finally {
			asking = undefined;
			others.resolve(consent);
		}
	}

	async function status(): Promise<IndexStatus> {
		const found = await withEngine((index) => index.status());
		set("indexed", found.state);
		return found;
	}

	async function withEngine<Result>(use: (index: CodeIndex) => Promise<Result>): Promise<Result> {
		engine ??= startEngine();
		const opened = engine;
		try {
			return await use(await opened);
		} catch (error) {
			// The engine has died; the next question starts another.
			if (property(error, "code") === "unavailable" && engine === opened) await close();
			throw error;
		}
	}

	function startEngine(): Promise<Engine> {
		set("state", "starting");
		const opening = open();
		opening.then(
			(opened) => {
				if (engine !== opening) return;
				stderr = () => opened.stderr?.() ?? [];
				set("state", "running");
			},
			() => {
				if (engine !== opening) return;
				engine = undefined;
				set("state", "stopped");
			},
		);
		return opening;
	}

	async function close(): Promise<void> {
		const closing = engine;
		engine = undefined;
		set("state", "stopped");
		// Ignores failures: an engine that failed to open or close is gone either way.
		await closing?.then((index) => index.close()).catch(() => {});
	}

	function noteCoverage({ coverage }: Covered): void {
		set("indexed", coverage.complete ? "ready" : "partial");
	}

	function set<Key extends "state" | "indexed">(key: Key, value: (typeof project)[Key]): void {
		if (project[key] === value) return;
		project[key] = value;
		onChange?.();
	}
}

/** Every question scans the tree; only progress over many files is worth showing. */
const MANY_FILES = 100;

type Consent = "yes" | "no" | "unsaid";

function leaving(signal: AbortSignal): Error {
	return new AbortedError(signal.reason);
}

const DECLINED =
	"The user does not want this project to be indexed: go on with read and grep. (/kota index indexes it after all.)";
