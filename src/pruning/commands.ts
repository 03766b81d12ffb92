import { basename } from "node:path";
import { blobFolder, createBlobStore } from "../core/blob-store.ts";
import { PIN_ENTRY } from "../core/entry-types.ts";
import type { SessionView, Spine, ToolResultItem } from "../session/index.ts";
import { counted, megabytes } from "../text/figures.ts";
import type { LivePruning } from "./live.ts";
import { pruningText, purgedText } from "./report.ts";
import type { PinEntry } from "./survey.ts";

export interface Subcommand {
	readonly usage: string;
	run(session: SessionView, words: string[]): Promise<string>;
}

const SHOWN_BLOBS = 10;

export function pruningCommands(
	{ host }: Spine,
	openFor: (session: SessionView) => Promise<LivePruning>,
): Map<string, Subcommand> {
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

	async function showPruning(session: SessionView): Promise<string> {
		const settings = session.config;
		if (!settings.prune.enabled) return "pruning: off (prune.enabled is false)";
		const pruning = await openFor(session);
		await session.values.refresh();
		const { pinned, holdingValues } = pruning.survey(session);
		return pruningText({
			settings,
			usage: session.getContextUsage(),
			keptOut: pruning.keptOut(session),
			summary: pruning.history.summary(),
			decision: pruning.pruner.preview(pruning.prunable(session, false)),
			callOf: ({ item }) => pruning.callOf(item),
			pinned: pinned.size,
			holdingValues,
			trouble: pruning.trouble,
			tokenPrice: (session.model?.cost?.input ?? 0) / 1_000_000,
			nowMs: Date.now(),
		});
	}

	async function pin(session: SessionView, [id]: string[]): Promise<string> {
		const pruning = await openFor(session);
		const { items } = session.ledger.log(session.sessionManager);
		const item = id === undefined ? pruning.lastMeaningful(items) : await resultOf(id, session);
		if (!item) {
			return id === undefined
				? "There is no tool result to pin yet."
				: `No result of a call "${id.slice(0, 80)}" is in the context; /kota pins lists what is pinned.`;
		}
		const entry: PinEntry = { toolCallId: item.toolCallId, pinned: true };
		host.appendEntry(PIN_ENTRY, entry);
		const isWhole = item.text === item.returned && !session.edits.get(item.entryId);
		const note = isWhole ? "" : " It was pruned before; its stub says how to get it back.";
		return `Pinned ${item.toolCallId}: ${pruning.callOf(item)}.${note}`;
	}

	async function unpin(session: SessionView, [id]: string[]): Promise<string> {
		if (id === undefined) return "Name the call: /kota unpin <call id>; /kota pins lists them.";
		const isPinned = (await openFor(session)).survey(session).pinned.has(id);
		if (!isPinned) return `"${id.slice(0, 80)}" is not pinned; /kota pins lists what is.`;
		const entry: PinEntry = { toolCallId: id, pinned: false };
		host.appendEntry(PIN_ENTRY, entry);
		return `No longer pinned: ${id}.`;
	}

	async function listPins(session: SessionView): Promise<string> {
		const pruning = await openFor(session);
		const { pinned, results } = pruning.survey(session);
		if (pinned.size === 0) return "Nothing is pinned; /kota pin pins the last result.";
		const byCall = new Map([...results.values()].map((item) => [item.toolCallId, item]));
		const lines = [...pinned].map((id) => {
			const item = byCall.get(id);
			return `  ${id}  ${item ? pruning.callOf(item) : "(not in the context)"}`;
		});
		return [`${pinned.size} pinned`, ...lines].join("\n");
	}

	async function resultOf(id: string, session: SessionView): Promise<ToolResultItem | undefined> {
		const { results } = (await openFor(session)).survey(session);
		return [...results.values()].findLast(({ toolCallId }) => toolCallId === id);
	}

	async function listBlobs(session: SessionView): Promise<string> {
		const { blobs } = session.config;
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

	async function purge(session: SessionView, words: string[]): Promise<string> {
		const { blobs } = session.config;
		const store = createBlobStore(blobs);
		const { objects, bytes, fault } = await store.stats();
		if (fault) return purgedText(fault);
		if (objects === 0) return `There is nothing to delete in ${blobFolder(blobs)}.`;
		const what = `${counted(objects, "text")} (${megabytes(bytes)}) in ${blobFolder(blobs)}`;
		if (!words.includes("--yes")) {
			if (!session.hasUI) return `Nothing deleted: this would delete ${what}; add --yes to do it.`;
			const question =
				"Stubs in all sessions will then lead nowhere, and the calls have to be run again.";
			if (!(await session.ui.confirm(`Delete ${what}?`, question))) return "Nothing deleted.";
		}
		return purgedText(await store.clear());
	}
}
