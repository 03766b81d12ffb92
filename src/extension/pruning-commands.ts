import { basename } from "node:path";
import type {
	ExtensionAPI,
	ExtensionCommandContext,
	ExtensionContext,
} from "@earendil-works/pi-coding-agent";
import { blobFolder, createBlobStore } from "../core/blob-store.ts";
import { PIN_ENTRY } from "../core/entry-types.ts";
import { counted, megabytes } from "../core/figures.ts";
import type { PinEntry } from "../pruning/index.ts";
import type { ToolResultItem } from "../session/index.ts";
import type { KotaSubcommand } from "./kota-command.ts";
import { pruningText, purgedText } from "./pruning-report.ts";
import { keptOutNow, type OpenPruning, prunableNow } from "./pruning-session.ts";
import type { ConfigFor } from "./system.ts";

/** What the commands need of pruning. */
export interface PruningCommandOptions {
	pi: ExtensionAPI;
	configFor: ConfigFor;
	openFor(ctx: ExtensionContext): Promise<OpenPruning>;
	isEnabled(): boolean;
}

/** Blobs that `/kota blobs` lists. */
const SHOWN_BLOBS = 10;

/** `/kota pruning`, `blobs`, `purge-blobs`, `pin`, `unpin` and `pins`. */
export function pruningCommands({
	pi,
	configFor,
	openFor,
	isEnabled,
}: PruningCommandOptions): Map<string, KotaSubcommand> {
	return new Map([
		["pruning", { usage: "what was pruned, what goes next and why it waits", run: showPruning }],
		[
			"pin",
			{ usage: "[call id]: keep the last result, or that of a call, out of pruning", run: pin },
		],
		["unpin", { usage: "<call id>: let it be pruned again", run: unpin }],
		["pins", { usage: "the pinned results", run: listPins }],
		["blobs", { usage: "where the full texts of pruned results are", run: listBlobs }],
		["purge-blobs", { usage: "delete them all; asks first", run: purge }],
	]);

	async function showPruning(ctx: ExtensionCommandContext): Promise<string> {
		const settings = configFor(ctx).config;
		if (!isEnabled()) return "pruning: off (prune.enabled is false)";
		const open = await openFor(ctx);
		const { pruner, history, pruning, trouble } = open;
		await open.values.refresh();
		const { pinned, holdingValues } = open.survey(ctx.sessionManager);
		return pruningText({
			settings,
			usage: ctx.getContextUsage(),
			keptOut: keptOutNow(open, ctx),
			summary: history.summary(),
			decision: pruner.preview(prunableNow(open, ctx, false)),
			callOf: ({ item }) => pruning.callOf(item),
			pinned: pinned.size,
			holdingValues,
			trouble,
			tokenPrice: (ctx.model?.cost?.input ?? 0) / 1_000_000,
			nowMs: Date.now(),
		});
	}

	async function pin(ctx: ExtensionCommandContext, [id]: string[]): Promise<string> {
		const open = await openFor(ctx);
		const { pruning, ledger, pending } = open;
		const { items } = ledger.log(ctx.sessionManager);
		const item = id === undefined ? pruning.lastMeaningful(items) : await resultOf(id, ctx);
		if (!item) {
			return id === undefined
				? "There is no tool result to pin yet."
				: `No result of a call "${id.slice(0, 80)}" is in the context; /kota pins lists what is pinned.`;
		}
		const entry: PinEntry = { toolCallId: item.toolCallId, pinned: true };
		pi.appendEntry(PIN_ENTRY, entry);
		const isWhole = item.text === item.returned && !pending.has(item.entryId);
		const note = isWhole ? "" : " It was pruned before; its stub says how to get it back.";
		return `Pinned ${item.toolCallId}: ${pruning.callOf(item)}.${note}`;
	}

	async function unpin(ctx: ExtensionCommandContext, [id]: string[]): Promise<string> {
		if (id === undefined) return "Name the call: /kota unpin <call id>; /kota pins lists them.";
		const open = await openFor(ctx);
		const isPinned = open.survey(ctx.sessionManager).pinned.has(id);
		if (!isPinned) return `"${id.slice(0, 80)}" is not pinned; /kota pins lists what is.`;
		const entry: PinEntry = { toolCallId: id, pinned: false };
		pi.appendEntry(PIN_ENTRY, entry);
		return `No longer pinned: ${id}.`;
	}

	async function listPins(ctx: ExtensionCommandContext): Promise<string> {
		const open = await openFor(ctx);
		const { pinned, results } = open.survey(ctx.sessionManager);
		if (pinned.size === 0) return "Nothing is pinned; /kota pin pins the last result.";
		const byCall = new Map([...results.values()].map((item) => [item.toolCallId, item]));
		const lines = [...pinned].map((id) => {
			const item = byCall.get(id);
			return `  ${id}  ${item ? open.pruning.callOf(item) : "(not in the context)"}`;
		});
		return [`${pinned.size} pinned`, ...lines].join("\n");
	}

	async function resultOf(id: string, ctx: ExtensionContext): Promise<ToolResultItem | undefined> {
		const { results } = (await openFor(ctx)).survey(ctx.sessionManager);
		return [...results.values()].findLast(({ toolCallId }) => toolCallId === id);
	}

	async function listBlobs(ctx: ExtensionCommandContext): Promise<string> {
		const { blobs } = configFor(ctx).config;
		const store = createBlobStore(blobs);
		const { objects, bytes, fault } = await store.stats();
		if (fault) return `Nothing can be kept or read back: ${fault.message}`;
		const latest = await store.latest(SHOWN_BLOBS);
		return [
			`${counted(objects, "text")}, ${megabytes(bytes)} of ${megabytes(blobs.maxBytes)} in ${blobFolder(blobs)}; unused ones go after ${blobs.maxAgeDays} days`,
			...latest.map(({ path, bytes, usedMs }) => {
				const at = new Date(usedMs).toISOString().slice(0, 16);
				return `  ${at}  ${bytes} bytes  ${basename(path)}`;
			}),
		].join("\n");
	}

	async function purge(ctx: ExtensionCommandContext, words: string[]): Promise<string> {
		const { blobs } = configFor(ctx).config;
		const store = createBlobStore(blobs);
		const { objects, bytes, fault } = await store.stats();
		if (fault) return purgedText(fault);
		if (objects === 0) return `There is nothing to delete in ${blobFolder(blobs)}.`;
		const what = `${counted(objects, "text")} (${megabytes(bytes)}) in ${blobFolder(blobs)}`;
		if (!words.includes("--yes")) {
			if (!ctx.hasUI) return `Nothing deleted: this would delete ${what}; add --yes to do it.`;
			const question =
				"Stubs in all sessions will then lead nowhere, and the calls have to be run again.";
			if (!(await ctx.ui.confirm(`Delete ${what}?`, question))) return "Nothing deleted.";
		}
		return purgedText(await store.clear());
	}
}
