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
	type ToolResult,
} from "../session/index.ts";
import { isEditingTool, pathCandidates } from "../session/read-path.ts";
import { counted } from "../text/figures.ts";
import {
	createController,
	createStateFile,
	readLitellmSettings,
	symbolHash,
	symbolKey,
} from "../tiers/index.ts";
import type { FileText } from "./copy-text.ts";
import { type View, viewOf } from "./copy-text.ts";
import { projectPath, readWorkingFile } from "./files.ts";
import { createLogLayout, type LogLayout, type LogPlan } from "./log/layout.ts";
import { type Selection, selectionOf } from "./selection.ts";
import type { BlockName } from "./tail.ts";
import type { PrefixMessage } from "./tier-prefix.ts";

/** The name under which edits of the working set are pending. */
export const OWNER = "workset";

/** What is known about the working set of one session. */
export interface OpenWorkset {
	readonly cwd: string;
	readonly settings: Pick<Config, "tiers" | "readcache">;
	readonly controller: ReturnType<typeof createController>;
	readonly layout: LogLayout;
	readonly stateFile: ReturnType<typeof createStateFile>;
	/** What the first block of a request's tail begins with. Nobody can guess it, so nothing else passes for the tail. */
	readonly tailTag: string;
	/** What each file has been through since the workset was opened; `changedMs` is 0 where nobody saw it change. */
	readonly fileHistory: Map<string, { changedMs: number; hits: number }>;
	/** The files that the model has edited since a request was last counted. */
	readonly edited: Set<string>;
	/** The working files as they were last read. */
	files: readonly WorkingText[];
	/** How many selected files no request shows, for there are more than `tiers.maxFiles`. */
	leftOut: number;
	/** The symbol map as it was last made. It stays as it is until the conversation is sent anew anyway. */
	map: SymbolMap | undefined;
	/** Why there is none although it is wanted. */
	noMap: string | undefined;
	/** The literal layout's messages in the last request. */
	prefix: readonly PrefixMessage[];
	/** The copy where the next reorganisation begins: its message, and the number of its block there. */
	frontier: { readonly messageId: unknown; readonly block: number } | undefined;
	/** The last block before that copy in the last request. */
	beforeFrontier: BlockName | undefined;
	/** The last request ended with a tail. */
	hasTail: boolean;
	/** The files that the last request showed outside of the session, in its tail or in the literal layout's prefix. */
	beside: readonly ShownFile[];
	/** The last request that was counted has been answered. */
	answered: boolean;
	/** Why the session was last changed, or not. */
	lastPlan: LogPlan | undefined;
}

/** A working file with its text, or with what is said instead of it. */
export interface WorkingText extends FileText {
	readonly tokens: number;
}

/** A map of the symbols of files that are not in the working set, as text and by file. */
export interface SymbolMap extends WorkingText {
	readonly entries: readonly MapEntry[];
}

/** A file's part of the symbol map. */
export interface MapEntry {
	readonly path: string;
	readonly text: string;
	readonly tokens: number;
	/** How many other files use something of it. */
	readonly references: number;
}

/** How large a symbol map may be, and whose symbols it leaves out. */
export interface MapQuery {
	readonly budgetTokens: number;
	readonly exclude: readonly string[];
}

/** What the code index answers. */
export interface MapAnswer {
	readonly blocks: readonly MapEntry[];
}

/** What the map is called among the working files. A file of this name cannot be one of them. */
export const MAP_NAME = "(symbol map)";

/** Opens it for a session, with what was saved of it. */
export async function openWorkset(session: SessionView): Promise<OpenWorkset> {
	const { cwd, config } = session;
	const stateFile = createStateFile({
		projectRoot: cwd,
		sessionId: session.sessionManager.getSessionId(),
	});
	const { state, warning } = await stateFile.load();
	void stateFile.sweep(); // in the background; it never rejects
	const litellm = await readLitellmSettings(cwd);
	for (const text of [warning, ...litellm.warnings]) {
		if (text) session.ui.notify(`pi-strata: ${text}`, "warning");
	}
	/** Our own files are about this program, `litellm.json` about another: it counts where ours say nothing. */
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
			...(state && { state }),
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
		hasTail: false,
		beside: [],
		answered: true,
		lastPlan: undefined,
	};
}

/** What the user has selected on this branch. */
export function selectionNow(session: SessionView): Selection {
	const changes = session.sessionManager
		.getBranch()
		.flatMap((entry) =>
			entry.type === "custom" && entry.customType === WORKSET_ENTRY ? [entry.data] : [],
		);
	const { paths, map } = selectionOf(changes);
	return { paths: paths.filter((path) => path !== MAP_NAME), map };
}

/** Whether the user wants the symbol map on this branch. */
export function wantsMap(workset: OpenWorkset, session: SessionView): boolean {
	return selectionNow(session).map ?? workset.settings.tiers.map;
}

/** Reads the selected files anew. What has no text to show, or no room, says so in its place. */
export async function refreshFiles(workset: OpenWorkset, session: SessionView): Promise<void> {
	const { settings, cwd, fileHistory } = workset;
	const { maxFileBytes, maxFiles, maxTokens } = settings.tiers;
	const limits = { maxFileBytes, exclude: settings.readcache.exclude };
	const before = new Map(workset.files.map(({ path, hash }) => [path, hash]));
	const { paths } = selectionNow(session);
	const wereLeftOut = workset.leftOut > 0;
	workset.leftOut = Math.max(0, paths.length - maxFiles);
	if (workset.leftOut > 0 && !wereLeftOut) {
		session.ui.notify(`pi-strata: ${leftOutText(workset)}`, "warning");
	}
	const found = await Promise.all(
		paths.slice(0, maxFiles).map((path) => readWorkingFile(cwd, path, limits)),
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

/** Says how many files are left out, and why. */
export function leftOutText({ leftOut, settings }: OpenWorkset): string {
	const files = counted(leftOut, "selected file is", "selected files are");
	return `${files} left out: tiers.maxFiles is ${settings.tiers.maxFiles}`;
}

function withoutText(path: string, text: string): WorkingText {
	return { path, text, hash: hashBytes(text), tokens: estimateTokens(text.length), gone: true };
}

/** What the model can see of the working set: as the session has it, with edits that only the requests show yet. */
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

/** Everything that every request is to show: the map, and the files. */
export function textsNow({ map, files }: OpenWorkset): WorkingText[] {
	return map ? [map, ...files] : [...files];
}

/** Makes the symbol map anew, of all files but the working files, and lets the tiers begin with what others use most. */
export async function refreshMap(
	workset: OpenWorkset,
	{ ui }: SessionView,
	ask: (query: MapQuery) => Promise<MapAnswer>,
): Promise<void> {
	const { controller, files, settings, fileHistory, map: before, noMap: toldBefore } = workset;
	const exclude = files.map(({ path }) => path);
	try {
		const { blocks } = await ask({ budgetTokens: settings.tiers.mapTokens, exclude });
		workset.map = symbolMapOf(blocks);
		workset.noMap = workset.map ? undefined : "the code index has no symbols of other files";
	} catch (error) {
		// Without an index there is no map, and the session goes on without one.
		workset.map = undefined;
		workset.noMap = describeError(error);
	}
	if (workset.noMap !== undefined && workset.noMap !== toldBefore) {
		ui.notify(`pi-strata: no symbol map: ${workset.noMap}`, "warning");
	}
	if (workset.map && workset.map.hash !== before?.hash) {
		fileHistory.set(workset.map.path, { changedMs: before ? Date.now() : 0, hits: 0 });
	}
	controller.seed({
		refs: (workset.map?.entries ?? []).map(({ path, text, tokens, references }) => ({
			key: symbolKey(path),
			refs: references,
			tokens,
			hash: symbolHash(text),
		})),
		exclude: exclude.map(symbolKey),
	});
}

function symbolMapOf(entries: readonly MapEntry[]): SymbolMap | undefined {
	if (entries.length === 0) return undefined;
	const text = entries.map((entry) => entry.text.trimEnd()).join("\n");
	const tokens = estimateTokens(text.length);
	return { path: MAP_NAME, text, hash: hashBytes(text), tokens, entries };
}

/** Counts a request for the tiers, unless it repeats one that was never answered: what stayed unchanged rises. */
export function countRequest(workset: OpenWorkset): void {
	const { controller, files, map, edited } = workset;
	if (!workset.answered) return;
	workset.answered = false;
	controller.next({
		files: files
			.filter(({ gone }) => !gone)
			.map(({ path: key, hash, tokens }) => ({ key, hash, tokens })),
		symbols: (map?.entries ?? []).map(({ path, text, tokens }) => ({
			key: symbolKey(path),
			hash: symbolHash(text),
			tokens,
		})),
		history: [],
		modified: edited,
	});
	edited.clear();
}

/** Takes note of a tool's result: a file that the model has written counts as changed, whatever it wrote. */
export function noteEdit(
	{ edited, cwd }: OpenWorkset,
	{ toolName, input, isError }: Pick<ToolResult, "toolName" | "input" | "isError">,
): void {
	const named = property(input, "path");
	if (isError || !isEditingTool(toolName) || typeof named !== "string") return;
	try {
		const [file] = pathCandidates(named, cwd);
		const path = file && projectPath(cwd, file);
		if (path) edited.add(path);
	} catch {
		// A URL that names no file: another extension's tool must know what it meant.
	}
}

/** Takes note of a bill: the files that were read from the cache were hit. */
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
