import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { getAgentDir } from "@earendil-works/pi-coding-agent";
import { type LoadedConfig, loadConfig } from "../core/config.ts";
import { createReport } from "./report.ts";
import { type System, statusLine, systemsTable } from "./system.ts";

/**
 * The pi extension: composes the systems of pi-strata. Pi runs this function again for every session of a process,
 * so all state lives in this closure. Nothing is started here (pi may load an extension without a session): systems
 * start at `session_start` and stop at `session_shutdown`.
 */
export default function strata(pi: ExtensionAPI): void {
	const report = createReport(pi);
	const systems: System[] = [
		planned("read cache"),
		planned("paging"),
		planned("kota"),
		planned("pruning"),
		planned("tiers"),
	];
	let running: { loaded: LoadedConfig } | undefined;

	pi.on("session_start", async (_event, ctx) => {
		await stop();
		const loaded = loadConfig({ agentDir: getAgentDir(), cwd: ctx.cwd });
		running = { loaded };
		for (const system of systems) await system.start?.({ config: loaded.config, ctx });
		showState(ctx, loaded);
	});
	pi.on("session_shutdown", stop);

	pi.registerCommand("strata", {
		description: "Show which systems of pi-strata are on, and why",
		handler: async (_args, ctx) => report(ctx, systemsTable(systems, running?.loaded.warnings ?? [])),
	});

	function showState(ctx: ExtensionContext, { warnings }: LoadedConfig): void {
		ctx.ui.setStatus("strata", statusLine(systems));
		const [first] = warnings;
		if (first === undefined) return;
		const more = warnings.length > 1 ? ` (and ${warnings.length - 1} more: see /strata)` : "";
		ctx.ui.notify(`pi-strata: ${first}${more}`, "warning");
	}

	/** Safe to call when nothing runs, and twice. */
	async function stop(): Promise<void> {
		if (!running) return;
		running = undefined;
		for (const system of systems.toReversed()) await system.stop?.();
	}
}

function planned(name: string): System {
	return { name, status: () => ({ on: false, why: "not part of this version yet" }) };
}
