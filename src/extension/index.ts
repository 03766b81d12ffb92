import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { BirthSystem } from "../birth/system.ts";
import { ClearingSystem } from "../clearing/system.ts";
import { CodeSystem } from "../code/system.ts";
import { EconomySystem } from "../economy/system.ts";
import { createPagingSystem } from "../paging/system.ts";
import { PruningSystem } from "../pruning/system.ts";
import { fileTouchOf, isCacheAnswer, touchesExcluded } from "../readcache/index.ts";
import { ReadCacheSystem } from "../readcache/system.ts";
import {
	createSessionFileWatch,
	createSessionMark,
	type Ledger,
	type PendingEdits,
	Session,
	type SessionHolder,
	type Spine,
	type System,
} from "../session/index.ts";
import { type TiersView, WorksetSystem } from "../workset/system.ts";
import { registerStrataCommand, showStart } from "./commands.ts";
import { FoldedNotice } from "./folded-notice.ts";
import { createPiHost } from "./pi-host.ts";
import { ProgressReporter } from "./progress-reporter.ts";
import { drawsOtherTools } from "./render.ts";
import { SavedSystem } from "./saved.ts";

export type CreateSystem = (spine: Spine) => System;

/**
 * Pi runs this for every session of a process, so all state lives in the session. Nothing starts
 * here, since pi may load an extension without a session.
 */
export default function strata(pi: ExtensionAPI): void {
	compose(pi, [
		createSessionFileWatch,
		({ host }) => createSessionMark(host.agentDir),
		({ host }) => new ProgressReporter(host.agentDir),
		...(drawsOtherTools(pi) ? [] : [() => new FoldedNotice()]),
	]);
}

/** The parts of the extension that the host of a session uses. */
export interface StrataInside {
	readonly ledger: Ledger;
	/** Edits that the next request shows but the session file does not have yet. */
	readonly edits: Pick<PendingEdits, "get">;
	/** `undefined` when the working set is empty or off. */
	tiers(session: SessionHolder): TiersView | undefined;
}

/** For hosts that mark and watch session files themselves. `onOpened` runs before each session. */
export function createStrata(
	onOpened: (inside: StrataInside) => void,
	more: readonly CreateSystem[] = [],
): (pi: ExtensionAPI) => void {
	return (pi) => onOpened(compose(pi, more));
}

/** Registers the systems with pi in the order in which they are called, `more` first. */
export function compose(pi: ExtensionAPI, more: readonly CreateSystem[] = []): StrataInside {
	const session = new Session(createPiHost(pi), pi);
	// Keep the order of these lines: requests list the tools in this order.
	const saved = new SavedSystem(session.host.agentDir);
	const pruning = new PruningSystem(session, { fileTouchOf, touchesExcluded }, (view) =>
		saved.byPruning(view),
	);
	const workset = new WorksetSystem(session, (view, query) => code.symbolMap(view, query));
	const readCache = new ReadCacheSystem(session);
	const code = new CodeSystem(session, { subcommands: pruning.commands });
	const economy = new EconomySystem(pruning);
	const birth = new BirthSystem({ isCacheAnswer, touchesExcluded });
	const clearing = new ClearingSystem(session, { fileTouchOf, touchesExcluded });
	const systems: System[] = [
		...more.map((create) => create(session)),
		createPagingSystem((call, view) => code.readSymbol(call, view)),
		readCache,
		pruning,
		workset,
		code,
		economy,
		clearing,
		saved,
		// The last one: it shortens results as the others leave them.
		birth,
	];
	registerStrataCommand(session, systems, {
		saved: (view) => saved.report(view),
		async cost(view) {
			const { head, tail } = await saved.cost(view);
			const own = [...(await birth.savings(view)), ...clearing.savings(view)];
			return [...head, await economy.costReport(view), ...own, ...tail].join("\n");
		},
	});
	session.run(systems, (view, failures) => showStart(systems, view, failures));
	return { ledger: session.ledger, edits: session.edits, tiers: (view) => workset.view(view) };
}
