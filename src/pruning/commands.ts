import { basename } from "node:path";
import { blobFolder, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { PIN_ENTRY } from "../core/entry-types.ts";
import type { SweepResult } from "../core/object-store.ts";
import type { SessionView, Spine, ToolResultItem } from "../session/index.ts";
import { counted, megabytes, short } from "../text/figures.ts";
import type { Action, LivePruning, PruningSummary } from "./live.ts";
import type { Decision } from "./pruner.ts";
import { callOf, type KeptOut, pruningStatus } from "./stub.ts";
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
			pinned: pinned.size,
			holdingValues,
			trouble: pruning.trouble,
			tokenPrice: (session.model?.cost?.input ?? 0) / 1_000_000,
			nowMs: Date.now(),
		});
	}

	async function pin(session: SessionView, [id]: string[]): Promise<string> {
		const { items } = session.ledger.log(session.sessionManager);
		const results = items.filter((one) => one.kind === "toolResult");
		const item =
			id === undefined
				? lastMeaningful(results)
				: results.findLast(({ toolCallId }) => toolCallId === id);
		if (!item) {
			return id === undefined
				? "There is no tool result to pin yet."
				: `No result of a call "${id.slice(0, 80)}" is in the context; /kota pins lists what is pinned.`;
		}
		notePin({ toolCallId: item.toolCallId, pinned: true });
		const isWhole = item.text === item.returned && !session.edits.get(item.entryId);
		const note = isWhole ? "" : " It was pruned before; its stub says how to get it back.";
		return `Pinned ${item.toolCallId}: ${callOf(item)}.${note}`;
	}

	async function unpin(session: SessionView, [id]: string[]): Promise<string> {
		if (id === undefined) return "Name the call: /kota unpin <call id>; /kota pins lists them.";
		const isPinned = (await openFor(session)).survey(session).pinned.has(id);
		if (!isPinned) return `"${id.slice(0, 80)}" is not pinned; /kota pins lists what is.`;
		notePin({ toolCallId: id, pinned: false });
		return `No longer pinned: ${id}.`;
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

	function notePin(entry: PinEntry): void {
		host.appendEntry(PIN_ENTRY, entry);
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

/** The default target of `/kota pin`: the latest result with text, neither error nor stub. */
export function lastMeaningful(results: readonly ToolResultItem[]): ToolResultItem | undefined {
	return results.findLast(({ isError, text = "", returned }) => {
		if (isError || text !== returned || text.trim() === "") return false;
		return !text.startsWith("[readcache: ");
	});
}

export interface PruningReport {
	readonly settings: Pick<Config, "prune" | "blobs">;
	readonly usage: ReturnType<SessionView["getContextUsage"]>;
	readonly keptOut: KeptOut;
	readonly summary: PruningSummary;
	/** Absent while there is nothing to decide on. */
	readonly decision?: Decision;
	readonly pinned: number;
	/** Kept because they hold a value of an excluded file. */
	readonly holdingValues: number;
	readonly trouble: string | undefined;
	/** Dollars per plain input token; 0 if unknown. */
	readonly tokenPrice: number;
	readonly nowMs: number;
}

const SHOWN = 5;

export function pruningText(report: PruningReport): string {
	const { settings, usage, keptOut, summary, trouble, pinned, holdingValues } = report;
	const { keepRecentTurns, maxToolChars, adaptive, pinImpactSummaries } = settings.prune;
	const lines = [
		`pruning: on (keepRecentTurns ${keepRecentTurns}, maxToolChars ${maxToolChars}, adaptive ${adaptive}, pinImpactSummaries ${pinImpactSummaries}, blobs.scope ${settings.blobs.scope})`,
		`context: ${pruningStatus(usage, keptOut.tokens)}`,
	];
	if (trouble !== undefined) {
		const what = "results were left as they are because the original could not be kept";
		lines.push(`the last time, ${what}: ${trouble}`);
	}
	lines.push(...doneLines(report), ...nextLines(report), `pinned: ${counted(pinned, "result")}`);
	if (holdingValues > 0) {
		const what = `${counted(holdingValues, "result")} with a value of a file on readcache.exclude`;
		lines.push(`neither pruned nor stored: ${what}`);
	}
	if (summary.actions.length > 0) lines.push(moneyLine(report));
	return lines.join("\n");
}

export function purgedText(swept: SweepResult): string {
	if (swept.kind === "failed") return `Nothing deleted: ${swept.message}`;
	const { removedObjects, removedBytes, objects, bytes, trouble = "used meanwhile" } = swept;
	const deleted =
		removedObjects === 0 && objects > 0
			? "Nothing deleted."
			: `Deleted ${counted(removedObjects, "text")} (${megabytes(removedBytes)}).`;
	if (objects === 0) return deleted;
	const verb = objects === 1 ? "is" : "are";
	return `${deleted} ${counted(objects, "text")} (${megabytes(bytes)}) ${verb} still there: ${trouble}`;
}

/** Actions are known since this start; older ones only by their stubs. */
function doneLines({ summary, keptOut, nowMs }: PruningReport): string[] {
	const { actions, results, freedTokens } = summary;
	const earlier = keptOut.results - results;
	const lines: string[] = [];
	if (earlier > 0) {
		const freed = short(Math.max(0, keptOut.tokens - freedTokens));
		lines.push(`done before this start: ${counted(earlier, "result")}, ${freed} tokens freed`);
	}
	if (actions.length === 0) return earlier > 0 ? lines : ["done in this session: nothing yet"];
	return [
		...lines,
		`done ${earlier > 0 ? "since" : "in this session"}: ${counted(results, "result")}, ${short(freedTokens)} tokens freed`,
		...actions.slice(-SHOWN).map((action) => `  ${actionText(action, nowMs)}`),
	];
}

function actionText({ atMs, why, results, freedTokens, rewrittenTokens }: Action, nowMs: number) {
	const minutes = Math.max(0, Math.round((nowMs - atMs) / 60_000));
	const cost = rewrittenTokens > 0 ? `, ${short(rewrittenTokens)} written anew` : "";
	return `${minutes} min ago: ${counted(results, "result")}, ${short(freedTokens)} tokens${cost} (${REASONS[why]})`;
}

const REASONS: Record<Decision["plan"]["why"], string> = {
	nothing: "there is nothing to prune",
	cold: "the provider's cache was cold, so it was free",
	"near-limit": "pi would soon compact",
	pays: "it pays",
	waits: "it waits until there is more",
	unpaid: "it waits until earlier savings cover the rewrite, so that no session gets dearer by it",
};

function nextLines({ decision }: PruningReport): string[] {
	const { candidates = [], bound = 0 } = decision ?? {};
	const thinking = "the model's thinking is bound to the text before it and would be lost";
	const kept = `kept: ${counted(bound, "old result")}, because ${thinking}; they can go right after a compaction`;
	if (!decision || candidates.length === 0) {
		return [bound > 0 ? kept : "next: nothing is old enough to go"];
	}
	const { plan, tight } = decision;
	const { freedTokens, rewrittenTokens, threshold, why } = plan;
	const wait =
		why === "waits" ? `${REASONS[why]}: from ${short(threshold)} tokens on it pays` : REASONS[why];
	const more = candidates.length - SHOWN;
	return [
		`next: ${counted(candidates.length, "result")}, ${short(freedTokens)} tokens, for ${short(rewrittenTokens)} written anew; ${wait}${tight ? "; the window fills up, so more goes than usual" : ""}`,
		...candidates.slice(0, SHOWN).map(({ why, item }) => `  ${why}: ${callOf(item)}`),
		...(more > 0 ? [`  and ${more} more`] : []),
		...(bound > 0 ? [kept] : []),
	];
}

/** In tokens where there is no price. */
function moneyLine({ summary, tokenPrice }: PruningReport): string {
	const tokens = Math.abs(summary.saved);
	const amount =
		tokenPrice > 0
			? `about $${(tokens * tokenPrice).toFixed(2)}`
			: `the price of about ${short(tokens)} input tokens`;
	return summary.saved >= 0
		? `money: saved ${amount} so far`
		: `money: has cost ${amount} more than it saved so far; each request from here on saves`;
}
