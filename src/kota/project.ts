import type {
	BuildReport,
	CallOptions,
	CodeIndex,
	Coverage,
	IndexProgress,
	IndexStatus,
} from "../codeindex/index.ts";
import { property } from "../core/property.ts";
import type { Engine } from "./engine.ts";

/** What a project's index needs of its surroundings. */
export interface ProjectOptions {
	readonly root: string;
	/** `kota.confirmIndex` */
	readonly confirmIndex: boolean;
	/** Opens the engine, on first use and after a restart. */
	open(): Promise<Engine>;
	/** Told whenever `state` or `indexed` has changed, and how far indexing is. */
	onChange?(progress?: IndexProgress): void;
}

/** Who is asking. */
export interface Asker extends CallOptions {
	/** Asks the user whether the project may be indexed for the first time; absent if there is nobody to ask. */
	readonly confirm?: (status: IndexStatus) => Promise<boolean>;
}

/**
 * The index of one project over a session: opened on first use, indexed for the first time only with consent, and
 * opened anew after it has died. Consent is remembered by there being an index; a no, until the session ends.
 */
export interface KotaProject {
	readonly root: string;
	readonly state: "stopped" | "starting" | "running";
	/** As far as it is known without asking. */
	readonly indexed: IndexStatus["state"] | "unknown";
	/** Puts a question to the index, which is built first if that was never done and is allowed. */
	ask<Answer extends { readonly coverage: Coverage }>(
		question: (index: CodeIndex, options: CallOptions) => Promise<Answer>,
		asker?: Asker,
	): Promise<Answer>;
	/** Indexes, or takes in what changed. A user who asks for it has consented: then `consent` is `given`. */
	build(asker?: Asker, consent?: "given" | "needed"): Promise<BuildReport>;
	status(): Promise<IndexStatus>;
	/** The last complaints of an engine that is a program of its own. */
	complaints(): readonly string[];
	/** Closes the engine; the next question opens it anew. Safe to call at any time. */
	close(): Promise<void>;
}

/** Makes the holder; nothing is opened yet. */
export function createKotaProject(options: ProjectOptions): KotaProject {
	const { root, confirmIndex, open, onChange } = options;
	let engine: Promise<Engine> | undefined;
	let complaints: KotaProject["complaints"] = () => [];
	let building: Promise<BuildReport> | undefined;
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
		async ask(question, asker = {}) {
			const put = async () => {
				let told = false;
				// Every question looks at the tree; only if much has changed does that take long enough to be told of.
				const onProgress = (progress: IndexProgress) => {
					if (progress.phase === "scanning" || (progress.total ?? 0) < MANY_FILES) return;
					told = true;
					tell(progress, asker);
				};
				try {
					const answer = await withEngine((index) =>
						question(index, { ...signalOf(asker), onProgress }),
					);
					note(answer.coverage.complete ? "ready" : "partial");
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
		complaints: () => complaints(),
		close,
	};

	/** Builds once for all who wait for it: several calls of one message find out at the same time. */
	function build(asker: Asker, consent: "given" | "needed"): Promise<BuildReport> {
		building ??= buildOnce(asker, consent).finally(() => {
			building = undefined;
			onChange?.();
		});
		return building;
	}

	async function buildOnce(asker: Asker, consent: "given" | "needed"): Promise<BuildReport> {
		if (consent === "needed") await needConsent(asker);
		declined = false;
		const report = await withEngine((index) =>
			index.build({ ...signalOf(asker), onProgress: (progress) => tell(progress, asker) }),
		);
		note(report.coverage.complete ? "ready" : "partial");
		return report;
	}

	/** An index that is there, even in part, was consented to. */
	async function needConsent({ confirm, signal }: Asker): Promise<void> {
		const found = await status();
		if (found.state !== "absent" || !confirmIndex) return;
		if (declined) throw new Error(DECLINED);
		if (!confirm) throw new Error(nobodyToAsk(root));
		if (await confirm(found)) return;
		// An aborted dialog answers no, which the user has not said.
		if (!signal?.aborted) declined = true;
		throw new Error(signal?.aborted ? "Operation aborted" : DECLINED);
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
			// Of an engine that has died nothing more can be expected: the next question starts another.
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
				complaints = () => opened.stderr?.() ?? [];
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
		// One that could not be opened, or fails to close, is gone all the same.
		await closing?.then((index) => index.close()).catch(() => {});
	}

	function tell(progress: IndexProgress, { onProgress }: Asker): void {
		onProgress?.(progress);
		onChange?.(progress);
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

/** So many changed files take about as long as a person notices. */
const MANY_FILES = 100;

function signalOf({ signal }: Asker): Pick<CallOptions, "signal"> {
	return signal ? { signal } : {};
}

const DECLINED =
	"The user does not want this project to be indexed: go on with read and grep. (/kota index indexes it after all.)";

function nobodyToAsk(root: string): string {
	return `${root} is not indexed yet, and there is nobody to ask whether it may be: run \`strata index\` there, or set kota.confirmIndex to false in the user's strata.json`;
}
