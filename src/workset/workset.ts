import { randomBytes } from "node:crypto";
import { promptTokens } from "../core/bill.ts";
import type { Config } from "../core/config.ts";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { describeError } from "../core/errno.ts";
import { hashBytes } from "../core/hash.ts";
import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	customMessages,
	type SessionHolder,
	type SessionView,
	type ShownFile,
} from "../session/index.ts";
import { isEditingTool, pathCandidates } from "../session/read-path.ts";
import { counted } from "../text/figures.ts";
import { readLitellmSettings, symbolKey, TierController, TierStateFile } from "../tiers/index.ts";
import { type FileText, type View, viewOf } from "./copy-text.ts";
import { projectPath, readWorkingFile } from "./files.ts";
import { LogLayout, type LogPlan } from "./log/layout.ts";
import { type Selection, selectionOf } from "./selection.ts";
import type { PrefixMessage } from "./tier-prefix.ts";

export const OWNER = "workset";

export class Workset {
	readonly cwd: string;
	readonly settings: Pick<Config, "tiers" | "readcache">;
	readonly controller: TierController;
	readonly layout = new LogLayout();
	readonly stateFile: TierStateFile;
	/** Starts the tail's first block. It is random, so that no other text can look like the tail. */
	readonly tailTag = `[${randomBytes(8).toString("hex")}] `;
	/** Keyed by path; counted since opening. `changedMs` is 0 if no change was seen. */
	readonly fileStats = new Map<string, { changedMs: number; hits: number }>();
	files: readonly WorkingText[] = [];
	/** Rebuilt only when the cache is cold. */
	map: SymbolMap | undefined;
	/** Set if a map is wanted but there is none. */
	noMapReason: string | undefined;
	prefix: readonly PrefixMessage[] = [];
	/** Where the next reorganisation begins. */
	frontier: { readonly messageId: unknown; readonly block: number } | undefined;
	/** The last block before the frontier in the last request. */
	beforeFrontier: BlockName | undefined;
	/** Files in the tail or prefix of the last request, which the session does not store. */
	transientFiles: readonly ShownFile[] = [];
	lastPlan: LogPlan | undefined;
	/** Number of selected files beyond `tiers.maxFiles`. */
	#leftOut = 0;
	/** Files edited by the model since the last counted request. */
	readonly #edited = new Set<string>();
	/** Whether the last counted request was answered. */
	#isAnswered = true;

	constructor({ cwd, config }: SessionView, stateFile: TierStateFile, controller: TierController) {
		this.cwd = cwd;
		this.settings = config;
		this.stateFile = stateFile;
		this.controller = controller;
	}

	static async open(session: SessionView): Promise<Workset> {
		const { cwd, config } = session;
		const stateFile = new TierStateFile(cwd, session.sessionManager.getSessionId());
		const { state, warning } = await stateFile.load();
		void stateFile.sweep(); // runs in the background; never rejects
		const litellm = await readLitellmSettings(cwd);
		for (const text of [warning, ...litellm.warnings]) {
			if (text) session.ui.notify(`pi-strata: ${text}`, "warning");
		}
		/** `litellm.json` belongs to another program. Its values count only where ours are defaults. */
		const value = (name: "cacheMinTokens" | "cacheBufferMultiplier") =>
			session.loaded.origin(`tiers.${name}`) === "default"
				? (litellm.settings[name] ?? config.tiers[name])
				: config.tiers[name];
		const cacheMinTokens = value("cacheMinTokens");
		const cacheBufferMultiplier = value("cacheBufferMultiplier");
		const controller = new TierController({ cacheMinTokens, cacheBufferMultiplier, state });
		return new Workset(session, stateFile, controller);
	}

	wantsMap(session: SessionView): boolean {
		return selectionNow(session).map ?? this.settings.tiers.map;
	}

	/** The map, if any, and all files. */
	texts(): WorkingText[] {
		return this.map ? [this.map, ...this.files] : [...this.files];
	}

	/** Reads the files. A note replaces a file that cannot be used, or for which there is no room. */
	async refreshFiles(session: SessionView): Promise<void> {
		const { maxFiles, maxTokens } = this.settings.tiers;
		const before = new Map(this.files.map(({ path, hash }) => [path, hash]));
		const { paths } = selectionNow(session);
		const wereLeftOut = this.#leftOut > 0;
		this.#leftOut = Math.max(0, paths.length - maxFiles);
		if (!wereLeftOut) {
			for (const text of this.leftOutTexts()) session.ui.notify(`pi-strata: ${text}`, "warning");
		}
		const found = await Promise.all(
			paths.slice(0, maxFiles).map((path) => readWorkingFile(this.cwd, path, this.settings)),
		);
		let tokens = 0;
		this.files = found.map((file): WorkingText => {
			if ("why" in file) return withoutText(file.path, `${file.path} ${file.why}.`);
			if (tokens + file.tokens > maxTokens) {
				const why = `the working files have more than ${maxTokens} tokens (tiers.maxTokens)`;
				return withoutText(file.path, `${file.path} is left out: ${why}.`);
			}
			tokens += file.tokens;
			return file;
		});
		for (const { path, hash } of this.files) {
			const changedMs = before.has(path) ? Date.now() : 0;
			if (before.get(path) !== hash) this.fileStats.set(path, { changedMs, hits: 0 });
		}
	}

	/** Returns one line, or nothing. */
	leftOutTexts(): string[] {
		if (this.#leftOut === 0) return [];
		const files = counted(this.#leftOut, "selected file is", "selected files are");
		return [`${files} left out: tiers.maxFiles is ${this.settings.tiers.maxFiles}`];
	}

	/** Rebuilds the map without working files, and seeds the tiers with the most used entries. */
	async refreshMap(session: SessionView, fetch: FetchSymbolMap): Promise<void> {
		const { map: before, noMapReason: reportedBefore } = this;
		const exclude = this.files.map(({ path }) => path);
		try {
			const query = { budgetTokens: this.settings.tiers.mapTokens, exclude };
			const { blocks } = await fetch(session, query);
			this.map = symbolMapOf(blocks);
			this.noMapReason = this.map
				? undefined
				: "the code index has no symbols outside of the working files";
		} catch (error) {
			// Without an index the session continues without a map.
			this.map = undefined;
			this.noMapReason = describeError(error);
		}
		if (this.noMapReason !== undefined && this.noMapReason !== reportedBefore) {
			session.ui.notify(`pi-strata: there is no symbol map: ${this.noMapReason}`, "warning");
		}
		if (this.map && this.map.hash !== before?.hash) {
			this.fileStats.set(this.map.path, { changedMs: before ? Date.now() : 0, hits: 0 });
		}
		this.controller.seed({ refs: symbolsIn(this.map), exclude: exclude.map(symbolKey) });
	}

	/** Counts a request, unless it retries a request that was not answered. */
	countRequest(): void {
		if (!this.#isAnswered) return;
		this.#isAnswered = false;
		const files = this.files.filter(({ gone }) => !gone);
		this.controller.next({
			files: files.map(({ path: key, hash, tokens }) => ({ key, hash, tokens })),
			symbols: symbolsIn(this.map),
			modified: this.#edited,
		});
		this.#edited.clear();
	}

	/** A file that the model wrote counts as changed, whatever its text. */
	recordEdit(run: { toolName: string; input: unknown; isError: boolean }): void {
		const named = property(run.input, "path");
		if (run.isError || !isEditingTool(run.toolName) || typeof named !== "string") return;
		try {
			const [file] = pathCandidates(named, this.cwd);
			const path = file && projectPath(this.cwd, file);
			if (path) this.#edited.add(path);
		} catch {
			// The input is a URL that does not name a file, for the tool of another extension.
		}
	}

	/** Counts a hit for each file that the provider read from its prompt cache. */
	recordAnswer(message: unknown, session: SessionView): void {
		const shown = this.texts();
		const tokens = promptTokens(property(message, "usage"));
		this.#isAnswered = true;
		const notRead = tokens.input + tokens.write;
		for (const { files: held, tokensBehind } of viewNow(session).copies) {
			if (notRead > tokensBehind) continue;
			for (const { path, hash } of held) {
				const file = shown.find((one) => one.path === path && one.hash === hash);
				const stats = file && this.fileStats.get(path);
				if (stats) stats.hits += 1;
			}
		}
	}
}

/** Identifies a tool result by its call, any other block by its text. */
export type BlockName = { readonly text: string } | { readonly toolCallId: string };

export interface WorkingText extends FileText {
	readonly tokens: number;
}

/** Symbols of files outside the working set. */
interface SymbolMap extends WorkingText {
	readonly entries: readonly MapEntry[];
}

interface MapEntry {
	readonly path: string;
	readonly text: string;
	readonly tokens: number;
	readonly references: number;
}

/** Rejects if there is no index. */
export type FetchSymbolMap = (
	session: SessionView,
	query: { readonly budgetTokens: number; readonly exclude: readonly string[] },
) => Promise<{ readonly blocks: readonly MapEntry[] }>;

/** A file with this name cannot be in the working set. */
export const MAP_NAME = "(symbol map)";

export function selectionNow(session: SessionView): Selection {
	const entries = session.sessionManager.getBranch().filter((entry) => entry.type === "custom");
	const ours = entries.filter(({ customType }) => customType === WORKSET_ENTRY);
	const { paths, map } = selectionOf(ours.map(({ data }) => data));
	return { paths: paths.filter((path) => path !== MAP_NAME), map };
}

function withoutText(path: string, text: string): WorkingText {
	return { path, text, hash: hashBytes(text), tokens: estimateTokens(text.length), gone: true };
}

/** Includes pending edits, which only requests show so far. */
export function viewNow(session: SessionHolder & Pick<SessionView, "edits">): View {
	const messages = customMessages(session.sessionManager, WORKSET_ENTRY);
	return viewOf(
		messages.flatMap((message) => {
			const edit = session.edits.get(message.entryId);
			if (!edit) return [message];
			return edit.content ? [{ ...message, texts: edit.content.map(({ text }) => text) }] : [];
		}),
	);
}

function symbolsIn(map: SymbolMap | undefined) {
	return (map?.entries ?? []).map(({ path, text, tokens, references }) => {
		return { key: symbolKey(path), hash: hashBytes(text), tokens, refs: references };
	});
}

function symbolMapOf(entries: readonly MapEntry[]): SymbolMap | undefined {
	if (entries.length === 0) return undefined;
	const text = entries.map((entry) => entry.text.trimEnd()).join("\n");
	const tokens = estimateTokens(text.length);
	return { path: MAP_NAME, text, hash: hashBytes(text), tokens, entries };
}
