import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { getAgentDir } from "@earendil-works/pi-coding-agent";
import { type LoadedConfig, loadConfig } from "../core/config.ts";
import { createEconomySystem } from "./economy.ts";
import { createValuesFor } from "./guarded-stores.ts";
import { createKotaSystem } from "./kota.ts";
import { createPagingSystem, pagingGuideline } from "./paging.ts";
import { createPruningSystem } from "./pruning.ts";
import { createReadCacheSystem } from "./read-cache.ts";
import { registerReadTool } from "./read-tool.ts";
import { createReport } from "./report.ts";
import { watchSessionFiles } from "./session-file.ts";
import { markSessions } from "./session-mark.ts";
import {
	persistDrafts,
	type System,
	startAll,
	statusLine,
	stopAll,
	systemsTable,
} from "./system.ts";
import { createTiersSystem } from "./tiers.ts";
import type { TiersView } from "./tiers-report.ts";
import type { SessionHolder } from "./workset-session.ts";

/**
 * The pi extension: composes the systems of pi-strata. Pi runs this function again for every session of a process,
 * so all state lives in this closure. Nothing is started here (pi may load an extension without a session): systems
 * start at `session_start` or on first use, and stop at `session_shutdown`.
 */
export default function strata(pi: ExtensionAPI): void {
	compose(pi);
	markSessions(pi);
	watchSessionFiles(pi);
}

/** What the host of a session can ask the extension in it. */
export interface StrataInside {
	/** The working set; `undefined` when it is empty or off. */
	tiers(session: SessionHolder): TiersView | undefined;
}

/**
 * The extension for a host that looks inside: `onOpened` is called for each session, before it starts. Its sessions are
 * not marked as open and their files are not watched: the host does both itself.
 */
export function createStrata(onOpened: (inside: StrataInside) => void): (pi: ExtensionAPI) => void {
	return (pi) => onOpened(compose(pi));
}

function compose(pi: ExtensionAPI): StrataInside {
	const report = createReport(pi);
	let loaded: { cwd: string; config: LoadedConfig } | undefined;
	let running = false;
	const valuesFor = createValuesFor(configFor);
	// Any other tool may have written a file with a secret in it, and a copy of that.
	pi.on("tool_result", ({ toolName }, ctx) => {
		if (toolName !== "read") valuesFor(ctx).expire();
	});

	// Before the read cache and the economy: what these change in a request, both must see.
	const pruning = createPruningSystem({
		pi,
		configFor,
		valuesFor,
		onPruned: () => economy.notePruned(),
	});
	const tiers = createTiersSystem({
		pi,
		report,
		configFor,
		symbolMap: (ctx, query) => kota.symbolMap(ctx, query),
	});
	const readCache = createReadCacheSystem({
		pi,
		report,
		configFor,
		valuesFor,
		otherReadOwner,
		shownElsewhere: tiers,
	});
	const paging = createPagingSystem(configFor);
	const economy = createEconomySystem(pi, configFor);
	const kota = createKotaSystem({ pi, report, configFor, valuesFor, more: pruning.commands });
	registerReadTool(pi, [paging.read, readCache.read], [pagingGuideline]);
	const systems: System[] = [readCache, paging, kota, pruning, tiers, economy];

	persistDrafts(pi, systems);

	pi.on("session_start", async ({ reason }, ctx) => {
		const failures = await stop();
		running = true;
		loaded = undefined;
		failures.push(...(await startAll(systems, { ctx, reason })));
		const warnings = [...failures, ...configFor(ctx).warnings];
		ctx.ui.setStatus("strata", statusLine(systems));
		const [first, ...more] = warnings;
		if (first === undefined) return;
		const rest = more.length > 0 ? ` (and ${more.length} more: see /strata)` : "";
		ctx.ui.notify(`pi-strata: ${first}${rest}`, "warning");
	});
	pi.on("session_shutdown", async () => {
		const failures = await stop();
		// Pi shows what a handler throws.
		if (failures.length > 0) throw new Error(failures.join("; "));
	});

	pi.registerCommand("strata", {
		description: "Show which systems of pi-strata are on, and why; `cost` shows what requests cost",
		handler: async (args, ctx) => {
			const [word = ""] = args.trim().split(/\s+/);
			if (word === "") report(ctx, systemsTable(systems, configFor(ctx).warnings));
			else if (word === "cost") report(ctx, await economy.costReport(ctx));
			else report(ctx, `/strata knows no "${word.slice(0, 60)}": use /strata or /strata cost`);
		},
	});

	return { tiers: tiers.view };

	function configFor(ctx: ExtensionContext): LoadedConfig {
		if (loaded?.cwd !== ctx.cwd) {
			loaded = { cwd: ctx.cwd, config: loadConfig({ agentDir: getAgentDir(), cwd: ctx.cwd }) };
		}
		return loaded.config;
	}

	/** Of several extensions that register `read`, pi takes the first loaded. Ours is found by its `/strata` command. */
	function otherReadOwner(): string | undefined {
		const owner = pi.getAllTools().find((tool) => tool.name === "read")?.sourceInfo;
		const own = pi.getCommands().find((command) => command.name === "strata")?.sourceInfo;
		return owner && own && owner.path !== own.path ? owner.path : undefined;
	}

	/** Safe to call when nothing runs, and twice. Returns what went wrong. */
	async function stop(): Promise<string[]> {
		if (!running) return [];
		running = false;
		return await stopAll(systems);
	}
}
