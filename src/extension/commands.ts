import { writeSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { REPORT_ENTRY } from "../core/entry-types.ts";
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

export function registerStrataCommand(
	{ host, at }: Spine,
	systems: readonly System[],
	costReport: (session: SessionView) => Promise<string>,
): void {
	host.registerCommand("strata", {
		description: "Show which systems of pi-strata are on, and why; `cost` shows what requests cost",
		handler: async (args, ctx) => {
			const [word = ""] = args.trim().split(/\s+/);
			const session = at(ctx);
			if (word === "") host.report(ctx, systemsTable(systems, session));
			else if (word === "cost") host.report(ctx, await costReport(session));
			else host.report(ctx, `unknown argument "${word.slice(0, 60)}": use /strata or /strata cost`);
		},
	});
}

/** Reports at session start which systems are on, and the first failure. */
export function showStart(
	systems: readonly System[],
	session: SessionView,
	failures: readonly string[],
): void {
	session.ui.setStatus("strata", statusLine(systems, session));
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
	return ["pi-strata", ...rows, ...notes].join("\n");
}

function statusLine(systems: readonly System[], session: SessionView): string {
	const on = statusOf(systems, session).filter((status) => status.on);
	return `strata: ${on.map(({ name }) => name).join(", ") || "all systems off"}`;
}
