import { writeSync } from "node:fs";
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { REPORT_ENTRY } from "../core/entry-types.ts";
import { oneLine } from "../core/one-line.ts";

/** Shows a command's answer to the person who asked. */
export type Report = (ctx: ExtensionCommandContext, text: string) => void;

/**
 * The one way our commands print. Terminal, RPC and JSON mode get a session entry with a renderer; print mode gets
 * standard output, which pi keeps for itself, hence the bare descriptor. Reports quote files, models and whoever else:
 * what would steer the terminal is written as an escape.
 */
export function createReport(pi: ExtensionAPI): Report {
	pi.registerEntryRenderer<{ text?: string }>(
		REPORT_ENTRY,
		(entry) => new Text(entry.data?.text ?? "", 1, 0),
	);
	return (ctx, report) => {
		const text = report.split("\n").map(oneLine).join("\n");
		if (ctx.mode === "print") {
			writeSync(1, `${text}\n`);
			return;
		}
		pi.appendEntry(REPORT_ENTRY, { text });
		// Clients that draw only UI requests would miss the entry: they get its first line.
		if (ctx.mode === "rpc") ctx.ui.notify(text.split("\n")[0] ?? "", "info");
	};
}
