import { randomBytes } from "node:crypto";
import type { ExtensionContext, ToolResultEvent } from "@earendil-works/pi-coding-agent";
import { promptTokens, ttlOf } from "../core/bill.ts";
import type { Config, LoadedConfig } from "../core/config.ts";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { describeError } from "../core/errno.ts";
import { counted } from "../core/figures.ts";
import { hashBytes } from "../core/hash.ts";
import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import type * as Economy from "../economy/index.ts";
import { isEditingTool, pathCandidates, type ShownFile } from "../readcache/index.ts";
import { customMessages } from "../session/index.ts";
import type * as Tiers from "../tiers/index.ts";
import { projectPath, readWorkingFile } from "./workset-files.ts";

/** What is needed of pi to look at a session. */
export type SessionHolder = Pick<ExtensionContext, "sessionManager">;

/** What is known about the working set of one session. */
export interface OpenWorkset {
	readonly cwd: string;
	readonly settings: Pick<Config, "tiers" | "readcache">;
	readonly tiers: typeof Tiers;
	readonly economy: typeof Economy;
	readonly controller: Tiers.Controller;
	readonly layout: Tiers.LogLayout;
	readonly stateFile: Tiers.StateFile;
	/** What the first block of a request's tail begins with. Nobody can guess it, so nothing else passes for the tail. */
	readonly tailTag: string;
	/** What each file has been through since the workset was opened; `changedMs` is 0 where nobody saw it change. */
	readonly fileHistory: Map<string, { changedMs: number; hits: number }>;
	/** Edits that requests are to show already and the session does not have yet, by the entry that they are of. */
	readonly pending: Map<string, PendingEdit>;
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
	prefix: readonly Tiers.PrefixMessage[];
	/** The copy where the next reorganisation begins: its message, and the number of its block there. */
	frontier: { readonly messageId: unknown; readonly block: number } | undefined;
	/** The last block before that copy in the last request. */
	beforeFrontier: Tiers.BlockName | undefined;
	/** The last request ended with a tail. */
	hasTail: boolean;
	/** The files that the last request showed outside of the session, in its tail or in the literal layout's prefix. */
	beside: readonly ShownFile[];
	/** The last request that was counted has been answered. */
	answered: boolean;
	/** Why the session was last changed, or not. */
	lastPlan: Tiers.LogPlan | undefined;
	/** For how long the provider keeps what it caches, by its latest bill. */
	ttl: Economy.Ttl;
}

/** A working file with its text, or with what is said instead of it. */
export interface WorkingText extends Tiers.FileText {
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

/** What a message is to become. */
export interface PendingEdit {
	/** What the message is known by in a request: the id in its details. */
	readonly messageId: unknown;
	/** `null` takes it away. */
	readonly content: Tiers.TextBlock[] | null;
}

/** Opens it; loads the code behind it, which sessions without a working set do without. */
export async function openWorkset(
	{ config, origin }: Pick<LoadedConfig, "config" | "origin">,
	ctx: ExtensionContext,
): Promise<OpenWorkset> {
	const [tiers, economy] = await Promise.all([
		import("../tiers/index.ts"),
		import("../economy/index.ts"),
	]);
	const { cwd } = ctx;
	const stateFile = tiers.createStateFile({
		projectRoot: cwd,
		sessionId: ctx.sessionManager.getSessionId(),
	});
	const { state, warning } = await stateFile.load();
	void stateFile.sweep(); // nobody waits for old states to be deleted, and it never rejects
	const litellm = await tiers.readLitellmSettings(cwd);
	for (const text of [warning, ...litellm.warnings]) {
		if (text) ctx.ui.notify(`pi-strata: ${text}`, "warning");
	}
	/** Our own files are about this program, `litellm.json` about another: it counts where ours say nothing. */
	const value = (name: "cacheMinTokens" | "cacheBufferMultiplier") =>
		origin(`tiers.${name}`) === "default"
			? (litellm.settings[name] ?? config.tiers[name])
			: config.tiers[name];
	return {
		cwd,
		settings: config,
		tiers,
		economy,
		stateFile,
		controller: tiers.createController({
			cacheMinTokens: value("cacheMinTokens"),
			cacheBufferMultiplier: value("cacheBufferMultiplier"),
			...(state && { state }),
		}),
		layout: tiers.createLogLayout(),
		tailTag: `[${randomBytes(8).toString("hex")}] `,
		fileHistory: new Map(),
		pending: new Map(),
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
		ttl: "5m",
	};
}

/** What the user has selected on this branch. */
export function selectionNow({ tiers }: OpenWorkset, ctx: ExtensionContext): Tiers.Selection {
	const changes = ctx.sessionManager
		.getBranch()
		.flatMap((entry) =>
			entry.type === "custom" && entry.customType === WORKSET_ENTRY ? [entry.data] : [],
		);
	const { paths, map } = tiers.selectionOf(changes);
	return { paths: paths.filter((path) => path !== MAP_NAME), map };
}

/** Whether the user wants the symbol map on this branch. */
export function wantsMap(workset: OpenWorkset, ctx: ExtensionContext): boolean {
	return selectionNow(workset, ctx).map ?? workset.settings.tiers.map;
}

/** Reads the selected files anew. What has no text to show, or no room, says so in its place. */
export async function refreshFiles(workset: OpenWorkset, ctx: ExtensionContext): Promise<void> {
	const { settings, cwd, fileHistory } = workset;
	const { maxFileBytes, maxFiles, maxTokens } = settings.tiers;
	const limits = { maxFileBytes, exclude: settings.readcache.exclude };
	const before = new Map(workset.files.map(({ path, hash }) => [path, hash]));
	const { paths } = selectionNow(workset, ctx);
	const wereLeftOut = workset.leftOut > 0;
	workset.leftOut = Math.max(0, paths.length - maxFiles);
	if (workset.leftOut > 0 && !wereLeftOut) {
		ctx.ui.notify(`pi-strata: ${leftOutText(workset)}`, "warning");
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
export function viewNow({ tiers, pending }: OpenWorkset, session: SessionHolder): Tiers.View {
	const messages = customMessages(session.sessionManager, WORKSET_ENTRY);
	return tiers.viewOf(
		messages.flatMap((message) => {
			const edit = pending.get(message.entryId);
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
	{ ui }: ExtensionContext,
	ask: (query: MapQuery) => Promise<MapAnswer>,
): Promise<void> {
	const {
		tiers,
		controller,
		files,
		settings,
		fileHistory,
		map: before,
		noMap: toldBefore,
	} = workset;
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
			key: tiers.symbolKey(path),
			refs: references,
			tokens,
			hash: tiers.symbolHash(text),
		})),
		exclude: exclude.map(tiers.symbolKey),
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
	const { controller, tiers, files, map, edited } = workset;
	if (!workset.answered) return;
	workset.answered = false;
	controller.next({
		files: files
			.filter(({ gone }) => !gone)
			.map(({ path: key, hash, tokens }) => ({ key, hash, tokens })),
		symbols: (map?.entries ?? []).map(({ path, text, tokens }) => ({
			key: tiers.symbolKey(path),
			hash: tiers.symbolHash(text),
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
	{ toolName, input, isError }: Pick<ToolResultEvent, "toolName" | "input" | "isError">,
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
export function noteAnswered(workset: OpenWorkset, message: unknown, ctx: ExtensionContext): void {
	const { fileHistory } = workset;
	const shown = textsNow(workset);
	const tokens = promptTokens(property(message, "usage"));
	workset.answered = true;
	workset.ttl = ttlOf(tokens) ?? workset.ttl;
	const notRead = tokens.input + tokens.write;
	for (const { files: held, tokensBehind } of viewNow(workset, ctx).copies) {
		if (notRead > tokensBehind) continue;
		for (const { path, hash } of held) {
			const file = shown.find((one) => one.path === path && one.hash === hash);
			const history = file && fileHistory.get(path);
			if (history) history.hits += 1;
		}
	}
}
