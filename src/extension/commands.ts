import { writeSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { REPORT_ENTRY } from "../core/entry-types.ts";
import { describeError } from "../core/errno.ts";
import type { Host, SessionView, Spine, System } from "../session/index.ts";
import { oneLine } from "../text/one-line.ts";

/** Reports quote untrusted text, so control characters are escaped. */
export function createReport(pi: Pick<ExtensionAPI, "appendEntry">): Host["report"] {
	return (ctx, report) => {
		const text = report.split("\n").map(oneLine).join("\n");
		if (ctx.mode === "print") {
			writeSync(1, `${text}\n`); // pi takes over `process.stdout`
			return;
		}
		pi.appendEntry(REPORT_ENTRY, { text });
		// Clients that draw only UI requests do not show the entry, so they get its first line.
		if (ctx.mode === "rpc") ctx.ui.notify(text.split("\n")[0] ?? "", "info");
	};
}

type CommandOptions = Parameters<Host["registerCommand"]>[1];

/**
 * Offers no completion for a word that is complete: pi's editor takes Enter as a choice while it offers one, so
 * `/kota status` would need two.
 */
export function withOneEnter(options: CommandOptions): CommandOptions {
	const { getArgumentCompletions: complete } = options;
	if (!complete) return options;
	return {
		...options,
		async getArgumentCompletions(prefix) {
			const items = await complete(prefix);
			const isComplete = items?.some(({ value }) => value === prefix.trim());
			return isComplete ? null : items;
		},
	};
}

/** Texts about money, for the user. */
interface MoneyReports {
	saved(session: SessionView): Promise<string[]>;
	cost(session: SessionView): Promise<string>;
}

export function registerStrataCommand(
	{ host, at }: Spine,
	systems: readonly System[],
	reports: MoneyReports,
): void {
	host.registerCommand("strata", {
		description: "What pi-strata saved, and which systems are on; `cost` shows what requests cost",
		getArgumentCompletions: (prefix) =>
			"cost".startsWith(prefix.trim()) ? [{ value: "cost", label: "cost" }] : null,
		handler: async (args, ctx) => {
			const [word = ""] = args.trim().split(/\s+/);
			const session = at(ctx);
			if (word === "") {
				const saved = await reports.saved(session).catch((error) => [describeError(error)]);
				host.report(ctx, [...saved, systemsTable(systems, session)].join("\n"));
			} else if (word === "cost") host.report(ctx, await reports.cost(session));
			else host.report(ctx, `unknown argument "${word.slice(0, 60)}": use /strata or /strata cost`);
		},
	});
}

/** Shows at session start that pi-strata is there, and the first failure. */
export function showStart(
	systems: readonly System[],
	session: SessionView,
	failures: readonly string[],
): void {
	const isOn = statusOf(systems, session).some(({ on }) => on);
	// A session with earlier requests has its figures already.
	const isNew = !session.sessionManager.getEntries().some(({ type }) => type === "message");
	if (!isOn || isNew) session.ui.setStatus("strata", isOn ? "strata" : "strata: all systems off");
	const [first, ...more] = [...failures, ...session.loaded.warnings];
	if (first === undefined) return;
	const rest = more.length > 0 ? ` (and ${more.length} more: see /strata)` : "";
	session.ui.notify(`pi-strata: ${first}${rest}`, "warning");
}

/** Display order of the systems. Other systems follow. */
const ORDER = ["read cache", "birth", "paging", "kota", "pruning", "clearing", "tiers", "economy"];

function statusOf(systems: readonly System[], session: SessionView) {
	const rank = (name: string) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
	return systems
		.flatMap((system) => {
			const status = system.status?.(session);
			return status ? [{ name: system.name, ...status }] : [];
		})
		.sort((a, b) => rank(a.name) - rank(b.name));
}

function systemsTable(systems: readonly System[], session: SessionView): string {
	const listed = statusOf(systems, session);
	const width = Math.max(0, ...listed.map(({ name }) => name.length));
	const rows = listed.map(
		({ name, on, why }) => `${on ? "on " : "off"}  ${name.padEnd(width)}  ${why}`,
	);
	const notes = session.loaded.warnings.map((warning) => `warning: ${warning}`);
	return ["Systems:", ...rows, ...notes].join("\n");
}
