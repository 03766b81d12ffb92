import { basename } from "node:path";
import { blobFolder, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { PIN_ENTRY } from "../core/entry-types.ts";
import type { SweepResult } from "../core/object-store.ts";
import type { PinEntry, SessionView, Spine, ToolResultItem } from "../session/index.ts";
import { counted, megabytes, money, short } from "../text/figures.ts";
import type { LivePruning } from "./live.ts";
import type { Decision, PrunedBatch, PruningSummary } from "./pruner.ts";
import { callOf, pruningStatus, type StubTotals } from "./stub.ts";

export interface Subcommand {
	readonly usage: string;
	run(session: SessionView, words: string[]): Promise<string>;
}

/** What pruning saved against pi alone; negative if it cost more than it saved. */
export interface SavedByPruning {
	/** In plain input tokens. */
	readonly tokens: number;
	/** Absent without a price. */
	readonly dollars?: number;
	/** True for the prices of the demo. */
	readonly isMadeUp: boolean;
}

const SHOWN_BLOBS = 10;

export function pruningCommands(
	{ host }: Spine,
	openFor: (session: SessionView) => Promise<LivePruning>,
	savedBy: (session: SessionView) => Promise<SavedByPruning | undefined>,
): Map<string, Subcommand> {
	return new Map([
		["pruning", { usage: "the prunings so far, the next one and why it waits", run: showPruning }],
		[
			"pin",
			{
				usage: "[call id]: never prune the result of this call (without an id: the latest result)",
				run: pin,
			},
		],
		["unpin", { usage: "<call id>: allow pruning of that result", run: unpin }],
		["pins", { usage: "the pinned results", run: listPins }],
		[
			"drop",
			{
				usage: "<call id>: replace the result of this call with a stub, from the next request on",
				run: drop,
			},
		],
		[
			"restore",
			{
				usage: "<call id>: show a pruned result in full again, from the next request on; pins it",
				run: restore,
			},
		],
		["blobs", { usage: "the stored full texts of pruned results", run: listBlobs }],
		["purge-blobs", { usage: "delete all stored full texts; asks first", run: purge }],
	]);

	async function showPruning(session: SessionView): Promise<string> {
		const settings = session.config;
		if (!settings.prune.enabled) return "pruning: off (prune.enabled is false)";
		const pruning = await openFor(session);
		await session.values.refresh();
		const { pinned, holdingValues } = pruning.survey(session);
		const saved = await savedBy(session);
		return pruningText({
			settings,
			usage: session.getContextUsage(),
			stubs: pruning.stubTotals(session),
			summary: pruning.log.summary(),
			decision: pruning.pruner.preview(pruning.prunable(session, false)),
			pinned: pinned.size,
			holdingValues,
			lastFailure: pruning.lastFailure,
			...(saved && { saved }),
			nowMs: Date.now(),
		});
	}

	async function pin(session: SessionView, [id]: string[]): Promise<string> {
		const { items } = session.ledger.log(session.sessionManager);
		const results = items.filter((one) => one.kind === "toolResult");
		const item =
			id === undefined
				? defaultPinTarget(results)
				: results.findLast(({ toolCallId }) => toolCallId === id);
		if (!item) {
			return id === undefined
				? "There is no tool result to pin yet."
				: `No result of a call "${id.slice(0, 80)}" is in the context; /kota pins lists the pinned results.`;
		}
		appendPin({ toolCallId: item.toolCallId, pinned: true });
		const isWhole = item.text === item.returned && !session.edits.get(item.entryId);
		const note = isWhole ? "" : " It is pruned already; its stub says how to read the full text.";
		return `Pinned ${item.toolCallId}: ${callOf(item)}.${note}`;
	}

	async function unpin(session: SessionView, [id]: string[]): Promise<string> {
		if (id === undefined) return "Name the call: /kota unpin <call id>; /kota pins lists them.";
		const isPinned = (await openFor(session)).survey(session).pinned.has(id);
		if (!isPinned)
			return `"${id.slice(0, 80)}" is not pinned; /kota pins lists the pinned results.`;
		appendPin({ toolCallId: id, pinned: false });
		return `No longer pinned: ${id}.`;
	}

	async function drop(session: SessionView, [id]: string[]): Promise<string> {
		if (id === undefined) return "Name the call: /kota drop <call id>.";
		if (!session.config.prune.enabled) return "Nothing was dropped: prune.enabled is false.";
		const why = await (await openFor(session)).dropByHand(session, id);
		const name = nameOf(session, id);
		return why === undefined
			? `Dropped ${name}: the next request has a stub in its place. The full text is stored; /kota restore brings it back.`
			: `${name} was not dropped: ${why}.`;
	}

	async function restore(session: SessionView, [id]: string[]): Promise<string> {
		if (id === undefined) return "Name the call: /kota restore <call id>.";
		if (!session.config.prune.enabled) return "Nothing was restored: prune.enabled is false.";
		const why = await (await openFor(session)).restoreByHand(session, id);
		const name = nameOf(session, id);
		if (why !== undefined) return `${name} was not restored: ${why}.`;
		appendPin({ toolCallId: id, pinned: true });
		return `Restored ${name}: the next request has its full text again. It is pinned now.`;
	}

	/** What the call did, for the user: ids say nothing. */
	function nameOf(session: SessionView, id: string): string {
		const { items } = session.ledger.log(session.sessionManager);
		const own = items.findLast(
			(one): one is ToolResultItem => one.kind === "toolResult" && one.toolCallId === id,
		);
		return own ? `${callOf(own)} (${id.slice(0, 80)})` : id.slice(0, 80);
	}

	async function listPins(session: SessionView): Promise<string> {
		const pruning = await openFor(session);
		const { pinned, results } = pruning.survey(session);
		if (pinned.size === 0) return "Nothing is pinned; /kota pin pins the last result.";
		const byCall = new Map([...results.values()].map((item) => [item.toolCallId, item]));
		const lines = [...pinned].map((id) => {
			const item = byCall.get(id);
			return `  ${id}  ${item ? callOf(item) : "(not in the context)"}`;
		});
		return [`${pinned.size} pinned`, ...lines].join("\n");
	}

	function appendPin(entry: PinEntry): void {
		host.appendEntry(PIN_ENTRY, entry);
	}

	async function listBlobs(session: SessionView): Promise<string> {
		const { blobs } = session.config;
		const store = createBlobStore(blobs);
		const { objects, bytes, fault } = await store.stats();
		if (fault) return `The store of full texts is unusable: ${fault.message}`;
		const latest = await store.latest(SHOWN_BLOBS);
		return [
			`${counted(objects, "text")}, ${megabytes(bytes)} of ${megabytes(blobs.maxBytes)} in ${blobFolder(blobs)}; unused ones are deleted after ${blobs.maxAgeDays} days`,
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
			const question = "Stubs in all sessions then have no full text: the calls must be run again.";
			if (!(await session.ui.confirm(`Delete ${what}?`, question))) return "Nothing deleted.";
		}
		return purgedText(await store.clear());
	}
}

/** The default target of `/kota pin`: the latest result with text that is not an error or a stub. */
export function defaultPinTarget(results: readonly ToolResultItem[]): ToolResultItem | undefined {
	return results.findLast(({ isError, text = "", returned }) => {
		if (isError || text !== returned || text.trim() === "") return false;
		return !text.startsWith("[readcache: ");
	});
}

export interface PruningReport {
	readonly settings: Pick<Config, "prune" | "blobs">;
	readonly usage: ReturnType<SessionView["getContextUsage"]>;
	readonly stubs: StubTotals;
	readonly summary: PruningSummary;
	/** Absent if there is nothing to decide. */
	readonly decision?: Decision;
	readonly pinned: number;
	/** Number of results that are not pruned because they hold a value of an excluded file. */
	readonly holdingValues: number;
	readonly lastFailure: string | undefined;
	/** Absent if no bill shows any effect. */
	readonly saved?: SavedByPruning;
	readonly nowMs: number;
}

const SHOWN = 5;

export function pruningText(report: PruningReport): string {
	const { settings, usage, stubs, lastFailure, pinned, holdingValues } = report;
	const { keepRecentTurns, maxToolChars, adaptive, pinImpactSummaries } = settings.prune;
	const lines = [
		`pruning: on (keepRecentTurns ${keepRecentTurns}, maxToolChars ${maxToolChars}, adaptive ${adaptive}, pinImpactSummaries ${pinImpactSummaries}, blobs.scope ${settings.blobs.scope})`,
		pruningStatus(usage, stubs.tokens),
	];
	if (lastFailure !== undefined) {
		const what = "results were not pruned, because their full text could not be stored";
		lines.push(`in the last pruning, ${what}: ${lastFailure}`);
	}
	lines.push(...doneLines(report), ...nextLines(report), `pinned: ${counted(pinned, "result")}`);
	if (holdingValues > 0) {
		const what = `${counted(holdingValues, "result")} with a value of a file on readcache.exclude`;
		lines.push(`not pruned and not stored: ${what}`);
	}
	if (report.saved) lines.push(moneyLine(report.saved));
	return lines.join("\n");
}

export function purgedText(swept: SweepResult): string {
	if (swept.kind === "failed") return `Nothing deleted: ${swept.message}`;
	const { removedObjects, removedBytes, objects, bytes, trouble = "in use" } = swept;
	const deleted =
		removedObjects === 0 && objects > 0
			? "Nothing deleted."
			: `Deleted ${counted(removedObjects, "text")} (${megabytes(removedBytes)}).`;
	if (objects === 0) return deleted;
	const verb = objects === 1 ? "is" : "are";
	return `${deleted} ${counted(objects, "text")} (${megabytes(bytes)}) ${verb} still there: ${trouble}`;
}

/** Batches from before this process started are known only by their stubs. */
function doneLines({ summary, stubs, nowMs }: PruningReport): string[] {
	const { batches, results, freedTokens } = summary;
	const earlier = stubs.results - results;
	const lines: string[] = [];
	if (earlier > 0) {
		const freed = short(Math.max(0, stubs.tokens - freedTokens));
		lines.push(
			`done before this process started: ${counted(earlier, "result")}, ${freed} tokens freed`,
		);
	}
	if (batches.length === 0) return earlier > 0 ? lines : ["done in this session: nothing yet"];
	return [
		...lines,
		`done ${earlier > 0 ? "since" : "in this session"}: ${counted(results, "result")}, ${short(freedTokens)} tokens freed`,
		...batches.slice(-SHOWN).map((batch) => `  ${batchText(batch, nowMs)}`),
	];
}

function batchText(batch: PrunedBatch, nowMs: number): string {
	const { atMs, why, results, freedTokens, rewrittenTokens } = batch;
	const minutes = Math.max(0, Math.round((nowMs - atMs) / 60_000));
	const cost = rewrittenTokens > 0 ? `, ${short(rewrittenTokens)} rewritten` : "";
	return `${minutes} min ago: ${counted(results, "result")}, ${short(freedTokens)} tokens${cost} (${REASONS[why]})`;
}

const REASONS: Record<PrunedBatch["why"], string> = {
	hand: "you asked for it",
	nothing: "there is nothing to prune",
	cold: "the provider's cache was cold, so it was free",
	"near-limit": "pi would compact next",
	pays: "it pays",
	waits: "it waits until there is more",
	unpaid: "it waits until earlier savings cover the rewrite, so that no session costs more",
};

function nextLines({ decision }: PruningReport): string[] {
	const { candidates = [], bound = 0 } = decision ?? {};
	const thinking = "the model's thinking is bound to the text before it and would be lost";
	const kept = `kept: ${counted(bound, "old result")}, because ${thinking}; they can be pruned right after a compaction`;
	if (!decision || candidates.length === 0) {
		return [bound > 0 ? kept : "next: nothing is old enough to prune"];
	}
	const { plan, tight } = decision;
	const { freedTokens, rewrittenTokens, threshold, why } = plan;
	const wait =
		why === "waits" ? `${REASONS[why]}: it pays from ${short(threshold)} tokens on` : REASONS[why];
	const more = candidates.length - SHOWN;
	return [
		`next: ${counted(candidates.length, "result")}, ${short(freedTokens)} tokens, for ${short(rewrittenTokens)} rewritten; ${wait}${tight ? "; the window fills up, so more is pruned than usual" : ""}`,
		...candidates.slice(0, SHOWN).map(({ why, item }) => `  ${why}: ${callOf(item)}`),
		...(more > 0 ? [`  and ${more} more`] : []),
		...(bound > 0 ? [kept] : []),
	];
}

/** The figure of `/strata` and of the Cost view. In tokens if the price is unknown. */
function moneyLine({ tokens, dollars, isMadeUp }: SavedByPruning): string {
	const amount =
		dollars === undefined
			? `the price of about ${short(Math.abs(tokens))} input tokens`
			: money(Math.abs(dollars));
	const mark = isMadeUp ? " (made-up prices)" : "";
	return (dollars ?? tokens) >= 0
		? `money: saved ${amount} so far${mark}`
		: `money: pruning has cost ${amount} more than it has saved so far${mark}; each further request saves some of it back`;
}
