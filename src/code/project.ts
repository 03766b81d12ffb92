import type {
	AnswerOf,
	BuildOptions,
	BuildReport,
	CallOptions,
	CodeIndex,
	Covered,
	IndexProgress,
	IndexQueries,
	IndexStatus,
	QueryOf,
	QuestionName,
} from "../codeindex/index.ts";
import { AbortedError } from "../core/aborted.ts";
import type { Config } from "../core/config.ts";
import { property } from "../core/property.ts";
import { Waiters } from "../core/waiters.ts";
import { depsForms, impactForms, symbolMapForms, taskContextForms } from "./files-text.ts";
import { type Audience, coverageLine, type RenderedAnswer } from "./outline.ts";
import { outlineForms, sourceForms } from "./source-text.ts";
import { searchForms, usagesForms } from "./symbols-text.ts";
import {
	type DepsInput,
	type OutlineInput,
	type SearchInput,
	searchQuery,
	type TaskContextInput,
	type UsagesInput,
} from "./tool-inputs.ts";

interface Engine extends CodeIndex {
	/** The last stderr lines of an external engine, sanitized for display. */
	stderr?(): readonly string[];
}

/** Opens the configured engine. Loads the engine's code on first use. */
export async function openEngine(
	settings: Config["kota"],
	root: string,
	{
		exclude,
		inThisThread = false,
	}: { readonly exclude: readonly string[]; readonly inThisThread?: boolean },
): Promise<Engine> {
	if (settings.engine === "external") {
		const { ExternalIndex } = await import("./external/external-index.ts");
		const { command, args, timeoutSeconds } = settings;
		return new ExternalIndex({ command, args, root, timeoutMs: timeoutSeconds * 1000 });
	}
	const { openCodeIndex } = await import("../codeindex/index.ts");
	const index = openCodeIndex({ root, exclude, inThisThread });
	if (settings.typeChecker === "") return index;
	const { withTypeChecker } = await import("./type-checker/checked-index.ts");
	return withTypeChecker(index, { command: settings.typeChecker });
}

interface Inputs extends Record<QuestionName, object> {
	readonly search: SearchInput;
	readonly dependencies: DepsInput;
	readonly outline: OutlineInput;
	readonly symbol: QueryOf<"symbol">;
	readonly usages: UsagesInput;
	readonly impact: QueryOf<"impact">;
	readonly taskContext: TaskContextInput;
	readonly symbolMap: QueryOf<"symbolMap">;
}

/** Maps each question to its query and to the forms of its answer, fullest first. */
const topics: {
	readonly [Name in QuestionName]: {
		query(input: Inputs[Name]): QueryOf<Name>;
		forms(answer: AnswerOf<Name>, input: Inputs[Name], reader: Audience): RenderedAnswer["forms"];
	};
} = {
	search: { query: searchQuery, forms: searchForms },
	dependencies: { query: same, forms: depsForms },
	outline: { query: same, forms: outlineForms },
	symbol: { query: same, forms: sourceForms },
	usages: { query: same, forms: usagesForms },
	impact: { query: same, forms: impactForms },
	taskContext: { query: same, forms: taskContextForms },
	symbolMap: { query: same, forms: symbolMapForms },
};

function same<Input>(input: Input): Input {
	return input;
}

export interface QuestionContext {
	readonly project: CodeProject;
	readonly paths: Audience;
	readonly caller: Caller;
}

/** Asks a question. `render` returns the answer as text. */
export async function answerTo<Name extends QuestionName>(
	name: Name,
	input: Inputs[Name],
	{ project, paths, caller }: QuestionContext,
): Promise<{ readonly answer: AnswerOf<Name>; render(nowMs: number): RenderedAnswer }> {
	const { query, forms } = topics[name];
	const answer = await project.ask(name, query(input), caller);
	const { coverage }: Covered = answer;
	const render = (nowMs: number) => ({
		forms: forms(answer, input, paths),
		lastLine: coverageLine(coverage, nowMs, paths.advice),
	});
	return { answer, render };
}

interface ProjectOptions {
	readonly root: string;
	readonly confirmIndex: boolean;
	open(): Promise<Engine>;
	/** Called when `state` or `indexed` changes, and with indexing progress. */
	onChange?(progress?: IndexProgress): void;
}

export interface Caller extends CallOptions {
	/** Asks the user for consent to the first indexing. Absent if there is no user; `undefined` if none answers. */
	readonly confirm?: (status: IndexStatus) => Promise<boolean | undefined>;
}

/** A session's view of the index. An existing index implies consent. A refusal holds for the session. */
export class CodeProject {
	readonly root: string;
	readonly #options: ProjectOptions;
	readonly #shown: ShownState = { state: "stopped", indexed: "unknown" };
	#engine: Promise<Engine> | undefined;
	#stderr: () => readonly string[] = () => [];
	#building: SharedBuild | undefined;
	#asking: Waiters<Consent> | undefined;
	#isDeclined = false;

	constructor(options: ProjectOptions) {
		this.root = options.root;
		this.#options = options;
	}

	get state() {
		return this.#shown.state;
	}

	get indexed() {
		return this.#shown.indexed;
	}

	stderr(): readonly string[] {
		return this.#stderr();
	}

	/** Builds the index first if there is none and the user consents. */
	async ask<Name extends QuestionName>(
		name: Name,
		query: QueryOf<Name>,
		caller: Caller = {},
	): Promise<AnswerOf<Name>> {
		try {
			return await this.#put(name, query, caller);
		} catch (error) {
			if (property(error, "code") !== "not-indexed") throw error;
		}
		await this.build(caller, "needed", { skeletonFirst: true });
		return await this.#put(name, query, caller);
	}

	/** Builds or refreshes the index. Consent is `given` if the user requested the build. */
	async build(
		caller: Caller = {},
		consent: "given" | "needed" = "needed",
		{ skeletonFirst = false }: Pick<BuildOptions, "skeletonFirst"> = {},
	): Promise<BuildReport> {
		if (consent === "needed") await this.#needConsent(caller);
		if (caller.signal?.aborted) throw new AbortedError(caller.signal.reason);
		this.#isDeclined = false;
		const shared = this.#building ?? this.#beginBuild(skeletonFirst);
		shared.callers.add(caller);
		try {
			const report = await shared.waiters.join(caller.signal);
			if (skeletonFirst || !shared.skeletonFirst) return report;
		} finally {
			shared.callers.delete(caller);
		}
		// The build that was joined has left something to read.
		return await this.build(caller, "given");
	}

	async status(): Promise<IndexStatus> {
		const found = await this.#withEngine((index) => index.status());
		this.#show("indexed", found.state);
		return found;
	}

	async close(): Promise<void> {
		const closing = this.#engine;
		this.#engine = undefined;
		this.#show("state", "stopped");
		// Ignores failures: an engine that failed to open or close is gone either way.
		await closing?.then((index) => index.close()).catch(() => {});
	}

	async #put<Name extends QuestionName>(
		name: Name,
		query: QueryOf<Name>,
		{ signal, onProgress: report }: Caller,
	): Promise<AnswerOf<Name>> {
		let isReported = false;
		const onProgress = (progress: IndexProgress) => {
			if (progress.phase === "scanning" || (progress.total ?? 0) < MANY_FILES) return;
			isReported = true;
			report?.(progress);
			this.#options.onChange?.(progress);
		};
		try {
			const options = { ...(signal && { signal }), onProgress };
			const answer = await this.#withEngine((index: IndexQueries) => index[name](query, options));
			this.#noteCoverage(answer);
			return answer;
		} finally {
			if (isReported) this.#options.onChange?.();
		}
	}

	/** Later callers join this build: parallel tool calls start at the same time. */
	#beginBuild(skeletonFirst: boolean): SharedBuild {
		const waiters = new Waiters<BuildReport>(abortedBy);
		const { signal } = waiters;
		const shared = { waiters, callers: new Set<Caller>(), skeletonFirst };
		this.#building = shared;
		const end = () => {
			if (this.#building === shared) this.#building = undefined;
		};
		const onProgress = (progress: IndexProgress) => {
			for (const caller of shared.callers) caller.onProgress?.(progress);
			this.#options.onChange?.(progress);
		};
		// Later callers must not join an aborted build.
		signal.addEventListener("abort", end);
		this.#withEngine((index) => index.build({ signal, onProgress, skeletonFirst }))
			.then((report) => {
				this.#noteCoverage(report);
				return report;
			})
			.finally(() => {
				end();
				this.#options.onChange?.();
			})
			.then(
				(report) => waiters.resolve(report),
				(error) => waiters.reject(error),
			);
		return shared;
	}

	/** An index that exists in part or is being built also implies consent. */
	async #needConsent(caller: Caller): Promise<void> {
		// The engine would not respond to `status` during a build.
		while (!this.#building) {
			const found = await this.status();
			if (this.#building || found.state !== "absent" || !this.#options.confirmIndex) return;
			if (this.#isDeclined) throw new Error(DECLINED);
			if (caller.signal?.aborted) throw new AbortedError(caller.signal.reason);
			const pending = this.#asking?.join(caller.signal);
			const consent = await (pending ?? this.#askUser(found, caller));
			if (consent === "yes") return;
			if (consent === "no") throw new Error(DECLINED);
		}
	}

	async #askUser(found: IndexStatus, { confirm, signal }: Caller): Promise<Consent> {
		if (!confirm) throw new Error(unconfirmed(this.root));
		const others = new Waiters<Consent>(abortedBy);
		this.#asking = others;
		let consent: Consent = "unsaid";
		try {
			const answer = await confirm(found);
			if (answer === undefined) throw new Error(unconfirmed(this.root));
			if (answer) consent = "yes";
			// An aborted dialog returns false, which is not the user's decision.
			else if (!signal?.aborted) consent = "no";
			if (consent === "no") this.#isDeclined = true;
			return consent;
		} finally {
			this.#asking = undefined;
			others.resolve(consent);
		}
	}

	async #withEngine<Result>(use: (index: CodeIndex) => Promise<Result>): Promise<Result> {
		this.#engine ??= this.#startEngine();
		const opened = this.#engine;
		try {
			return await use(await opened);
		} catch (error) {
			// `unavailable` means that the engine has died. The next question starts another.
			const isDead = property(error, "code") === "unavailable";
			if (isDead && this.#engine === opened) await this.close();
			throw error;
		}
	}

	#startEngine(): Promise<Engine> {
		this.#show("state", "starting");
		const opening = this.#options.open();
		opening.then(
			(opened) => {
				if (this.#engine !== opening) return;
				this.#stderr = () => opened.stderr?.() ?? [];
				this.#show("state", "running");
			},
			() => {
				if (this.#engine !== opening) return;
				this.#engine = undefined;
				this.#show("state", "stopped");
			},
		);
		return opening;
	}

	#noteCoverage({ coverage }: Covered): void {
		this.#show("indexed", coverage.complete ? "ready" : "partial");
	}

	#show<Key extends keyof ShownState>(key: Key, value: ShownState[Key]): void {
		if (this.#shown[key] === value) return;
		this.#shown[key] = value;
		this.#options.onChange?.();
	}
}

interface ShownState {
	readonly state: "stopped" | "starting" | "running";
	readonly indexed: IndexStatus["state"] | "unknown";
}

interface SharedBuild {
	readonly waiters: Waiters<BuildReport>;
	readonly callers: Set<Caller>;
	readonly skeletonFirst: boolean;
}

/** Every question refreshes the index. Progress is shown only for at least this many files. */
const MANY_FILES = 100;

type Consent = "yes" | "no" | "unsaid";

function abortedBy(signal: AbortSignal): Error {
	return new AbortedError(signal.reason);
}

function unconfirmed(root: string): string {
	return `${root} is not indexed yet, and there is no user to confirm it: run \`strata index\` there, or set kota.confirmIndex to false in the user's strata.json`;
}

const DECLINED =
	"The user does not want this project to be indexed: go on with read and grep. (`strata index`, or /kota index in pi, indexes it after all.)";
