import type {
	AnswerOf,
	Asked,
	BuildReport,
	CallOptions,
	CodeIndex,
	Coverage,
	IndexProgress,
	IndexStatus,
	QueryOf,
	QuestionName,
} from "../codeindex/index.ts";
import { AbortedError } from "../core/aborted.ts";
import { property } from "../core/property.ts";
import { Waiters } from "../core/waiters.ts";
import type { Engine } from "./engine.ts";
import { ofManyFiles } from "./outline.ts";

export interface ProjectOptions {
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

/** A session's view of the index. An existing index implies consent; a no lasts for the session. */
export interface KotaProject {
	readonly root: string;
	readonly state: "stopped" | "starting" | "running";
	readonly indexed: IndexStatus["state"] | "unknown";
	/** Builds the index first if there is none and the user consents. */
	ask<Name extends QuestionName>(
		name: Name,
		query: QueryOf<Name>,
		asker?: Asker,
	): Promise<AnswerOf<Name>>;
	/** Builds or refreshes. `given`: the user requested it, which is consent. */
	build(asker?: Asker, consent?: "given" | "needed"): Promise<BuildReport>;
	status(): Promise<IndexStatus>;
	stderr(): readonly string[];
	close(): Promise<void>;
}

export function createKotaProject(options: ProjectOptions): KotaProject {
	const { root, confirmIndex, open, onChange } = options;
	let engine: Promise<Engine> | undefined;
	let stderr: KotaProject["stderr"] = () => [];
	let building: SharedBuild | undefined;
	let asking: Waiters<Consent> | undefined;
	let state: KotaProject["state"] = "stopped";
	let indexed: KotaProject["indexed"] = "unknown";
	let declined = false;

	return {
		root,
		get state() {
			return state;
		},
		get indexed() {
			return indexed;
		},
		async ask(name, query, asker = {}) {
			const put = async () => {
				let told = false;
				const onProgress = ofManyFiles((progress) => {
					told = true;
					asker.onProgress?.(progress);
					onChange?.(progress);
				});
				try {
					const options = { ...(asker.signal && { signal: asker.signal }), onProgress };
					const answer = await withEngine((index: Asked) => index[name](query, options));
					noteCoverage(answer);
					return answer;
				} finally {
					if (told) onChange?.();
				}
			};
			try {
				return await put();
			} catch (error) {
				if (property(error, "code") !== "not-indexed") throw error;
			}
			await build(asker, "needed");
			return await put();
		},
		build: (asker = {}, consent = "needed") => build(asker, consent),
		status,
		stderr: () => stderr(),
		close,
	};

	async function build(asker: Asker, consent: "given" | "needed"): Promise<BuildReport> {
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
	function beginBuild(): SharedBuild {
		const shared: SharedBuild = { waiters: new Waiters(leaving), askers: new Set() };
		const { waiters } = shared;
		building = shared;
		// Later callers must not join an aborted build.
		waiters.signal.addEventListener("abort", () => endBuild(shared));
		runBuild(shared).then(
			(report) => waiters.resolve(report),
			(error) => waiters.reject(error),
		);
		return shared;
	}

	async function runBuild(shared: SharedBuild): Promise<BuildReport> {
		const onProgress = (progress: IndexProgress) => {
			for (const asker of shared.askers) asker.onProgress?.(progress);
			onChange?.(progress);
		};
		try {
			const { signal } = shared.waiters;
			const report = await withEngine((index) => index.build({ signal, onProgress }));
			noteCoverage(report);
			return report;
		} finally {
			endBuild(shared);
			onChange?.();
		}
	}

	function endBuild(shared: SharedBuild): void {
		if (building === shared) building = undefined;
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
		if (!confirm) throw new Error(nobodyToAsk(root));
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
		note(found.state);
		return found;
	}

	async function withEngine<Result>(use: (index: CodeIndex) => Promise<Result>): Promise<Result> {
		engine ??= openEngine();
		const opened = engine;
		try {
			return await use(await opened);
		} catch (error) {
			// The engine has died; the next question starts another.
			if (property(error, "code") === "unavailable" && engine === opened) await close();
			throw error;
		}
	}

	function openEngine(): Promise<Engine> {
		setState("starting");
		const opening = open();
		opening.then(
			(opened) => {
				if (engine !== opening) return;
				stderr = () => opened.stderr?.() ?? [];
				setState("running");
			},
			() => {
				if (engine !== opening) return;
				engine = undefined;
				setState("stopped");
			},
		);
		return opening;
	}

	async function close(): Promise<void> {
		const closing = engine;
		engine = undefined;
		setState("stopped");
		// Ignores failures: an engine that failed to open or close is gone either way.
		await closing?.then((index) => index.close()).catch(() => {});
	}

	function noteCoverage({ coverage }: { readonly coverage: Coverage }): void {
		note(coverage.complete ? "ready" : "partial");
	}

	function setState(next: typeof state): void {
		if (state === next) return;
		state = next;
		onChange?.();
	}

	function note(next: typeof indexed): void {
		if (indexed === next) return;
		indexed = next;
		onChange?.();
	}
}

interface SharedBuild {
	readonly waiters: Waiters<BuildReport>;
	readonly askers: Set<Asker>;
}

type Consent = "yes" | "no" | "unsaid";

function leaving(signal: AbortSignal): Error {
	return new AbortedError(signal.reason);
}

const DECLINED =
	"The user does not want this project to be indexed: go on with read and grep. (/kota index indexes it after all.)";

function nobodyToAsk(root: string): string {
	return `${root} is not indexed yet, and there is nobody to ask whether it may be: run \`strata index\` there, or set kota.confirmIndex to false in the user's strata.json`;
}
