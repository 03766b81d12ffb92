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
import {
	createController,
	createStateFile,
	readLitellmSettings,
	symbolKey,
} from "../tiers/index.ts";
import { type FileText, type View, viewOf } from "./copy-text.ts";
import { projectPath, readWorkingFile } from "./files.ts";
import { createLogLayout, type LogPlan } from "./log/layout.ts";
import { type Selection, selectionOf } from "./selection.ts";
import type { PrefixMessage } from "./tier-prefix.ts";

export const OWNER = "workset";

/** The working set of one session. */
export interface OpenWorkset {
	readonly cwd: string;
	readonly settings: Pick<Config, "tiers" | "readcache">;
	readonly controller: ReturnType<typeof createController>;
	readonly layout: ReturnType<typeof createLogLayout>;
	readonly stateFile: ReturnType<typeof createStateFile>;
	/** Starts the tail's first block. Random, so that no other text passes for the tail. */
	readonly tailTag: string;
	/** Since opening; `changedMs` is 0 if no change was seen. */
	readonly fileHistory: Map<string, { changedMs: number; hits: number }>;
	/** Files edited by the model since the last counted request. */
	readonly edited: Set<string>;
	files: readonly WorkingText[];
	/** Selected files above `tiers.maxFiles`. */
	leftOut: number;
	/** Kept unchanged until the conversation is sent again anyway. */
	map: SymbolMap | undefined;
	/** Why there is none although it is wanted. */
	noMap: string | undefined;
	prefix: readonly PrefixMessage[];
	/** Where the next reorganisation begins. */
	frontier: { readonly messageId: unknown; readonly block: number } | undefined;
	/** The last block before it in the last request. */
	beforeFrontier: BlockName | undefined;
	/** Files in the last request but not in the session: in its tail or prefix. */
	beside: readonly ShownFile[];
	/** Whether the last counted request was answered. */
	answered: boolean;
	lastPlan: LogPlan | undefined;
}

/** A tool result by its call, any other block by its text. */
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

export type AskMap = (query: {
	readonly budgetTokens: number;
	readonly exclude: readonly string[];
}) => Promise<{ readonly blocks: readonly MapEntry[] }>;

/** A file of this name cannot be in the working set. */
export const MAP_NAME = "(symbol map)";

export async function openWorkset(session: SessionView): Promise<OpenWorkset> {
	const { cwd, config } = session;
	const stateFile = createStateFile(cwd, session.sessionManager.getSessionId());
	const { state, warning } = await stateFile.load();
	void stateFile.sweep(); // background; it never rejects
	const litellm = await readLitellmSettings(cwd);
	for (const text of [warning, ...litellm.warnings]) {
		if (text) session.ui.notify(`pi-strata: ${text}`, "warning");
	}
	/** `litellm.json` is another program's: it counts where our settings are defaults. */
	const value = (name: "cacheMinTokens" | "cacheBufferMultiplier") =>
		session.loaded.origin(`tiers.${name}`) === "default"
			? (litellm.settings[name] ?? config.tiers[name])
			: config.tiers[name];
	return {
		cwd,
		settings: config,
		stateFile,
		controller: createController({
			cacheMinTokens: value("cacheMinTokens"),
			cacheBufferMultiplier: value("cacheBufferMultiplier"),
			state,
		}),
		layout: createLogLayout(),
		tailTag: `[${randomBytes(8).toString("hex")}] `,
		fileHistory: new Map(),
		edited: new Set(),
		files: [],
		leftOut: 0,
		map: undefined,
		noMap: undefined,
		prefix: [],
		frontier: undefined,
		beforeFrontier: undefined,
		beside: [],
		answered: true,
		lastPlan: undefined,
	};
}

export function selectionNow(session: SessionView): Selection {
	const changes = session.sessionManager
		.getBranch()
		.flatMap((entry) =>
			entry.type === "custom" && entry.customType === WORKSET_ENTRY ? [entry.data] : [],
		);
	const { paths, map } = selectionOf(changes);
	return { paths: paths.filter((path) => path !== MAP_NAME), map };
}

export function wantsMap(workset: OpenWorkset, session: SessionView): boolean {
	return selectionNow(session).map ?? workset.settings.tiers.map;
}

/** Files without text or room get a note instead. */
export async function refreshFiles(workset: OpenWorkset, session: SessionView): Promise<void> {
	const { settings, cwd, fileHistory } = workset;
	const { maxFiles, maxTokens } = settings.tiers;
	const before = new Map(workset.files.map(({ path, hash }) => [path, hash]));
	const { paths } = selectionNow(session);
	const wereLeftOut = workset.leftOut > 0;
	workset.leftOut = Math.max(0, paths.length - maxFiles);
	if (workset.leftOut > 0 && !wereLeftOut) {
		session.ui.notify(`pi-strata: ${leftOutText(workset)}`, "warning");
	}
	const found = await Promise.all(
		paths.slice(0, maxFiles).map((path) => readWorkingFile(cwd, path, settings)),
	);
	let tokens = 0;
	workset.files = found.map((file): WorkingText => {
		if ("why" in file) return withoutText(file.path, `${file.path} ${file.why}.`);
		if (tokens + file.tokens > maxTokens) {
			const why = `the working files have more than ${maxTokens} tokens (tiers.maxTokens)`;
			return withoutText(file.path, `${file.path} is left out: ${why}.`);
		}
		tokens += file.tokens;
		return file;
	});
	for (const { path, hash } of workset.files) {
		const changedMs = before.has(path) ? Date.now() : 0;
		if (before.get(path) !== hash) fileHistory.set(path, { changedMs, hits: 0 });
	}
}

export function leftOutText({ leftOut, settings }: OpenWorkset): string {
	const files = counted(leftOut, "selected file is", "selected files are");
	return `${files} left out: tiers.maxFiles is ${settings.tiers.maxFiles}`;
}

function withoutText(path: string, text: string): WorkingText {
	return { path, text, hash: hashBytes(text), tokens: estimateTokens(text.length), gone: true };
}

/** Includes edits that only requests show yet. */
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

export function textsNow({ map, files }: OpenWorkset): WorkingText[] {
	return map ? [map, ...files] : [...files];
}

/** Rebuilds the map without working files, and seeds the tiers with the most used entries. */
export async function refreshMap(
	workset: OpenWorkset,
	{ ui }: SessionView,
	ask: AskMap,
): Promise<void> {
	const { controller, files, settings, fileHistory, map: before, noMap: toldBefore } = workset;
	const exclude = files.map(({ path }) => path);
	try {
		const { blocks } = await ask({ budgetTokens: settings.tiers.mapTokens, exclude });
		workset.map = symbolMapOf(blocks);
		workset.noMap = workset.map ? undefined : "the code index has no symbols of other files";
	} catch (error) {
		// Without an index the session continues without a map.
		workset.map = undefined;
		workset.noMap = describeError(error);
	}
	if (workset.noMap !== undefined && workset.noMap !== toldBefore) {
		ui.notify(`pi-strata: no symbol map: ${workset.noMap}`, "warning");
	}
	if (workset.map && workset.map.hash !== before?.hash) {
		fileHistory.set(workset.map.path, { changedMs: before ? Date.now() : 0, hits: 0 });
	}
	controller.seed({ refs: symbolsIn(workset), exclude: exclude.map(symbolKey) });
}

function symbolsIn({ map }: OpenWorkset) {
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

/** Counts a request, unless it repeats an unanswered one. */
export function countRequest(workset: OpenWorkset): void {
	if (!workset.answered) return;
	workset.answered = false;
	const files = workset.files.filter(({ gone }) => !gone);
	workset.controller.next({
		files: files.map(({ path: key, hash, tokens }) => ({ key, hash, tokens })),
		symbols: symbolsIn(workset),
		modified: workset.edited,
	});
	workset.edited.clear();
}

/** A file that the model wrote counts as changed, whatever its text. */
export function noteEdit(
	{ edited, cwd }: OpenWorkset,
	{ toolName, input, isError }: { toolName: string; input: unknown; isError: boolean },
): void {
	const named = property(input, "path");
	if (isError || !isEditingTool(toolName) || typeof named !== "string") return;
	try {
		const [file] = pathCandidates(named, cwd);
		const path = file && projectPath(cwd, file);
		if (path) edited.add(path);
	} catch {
		// The URL names no file: another extension's tool takes it.
	}
}

/** Files read from the cache count a hit. */
export function noteAnswered(workset: OpenWorkset, message: unknown, session: SessionView): void {
	const { fileHistory } = workset;
	const shown = textsNow(workset);
	const tokens = promptTokens(property(message, "usage"));
	workset.answered = true;
	const notRead = tokens.input + tokens.write;
	for (const { files: held, tokensBehind } of viewNow(session).copies) {
		if (notRead > tokensBehind) continue;
		for (const { path, hash } of held) {
			const file = shown.find((one) => one.path === path && one.hash === hash);
			const history = file && fileHistory.get(path);
			if (history) history.hits += 1;
		}
	}
}
