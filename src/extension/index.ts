import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { createCodeSystem } from "../code/system.ts";
import { createEconomySystem } from "../economy/system.ts";
import { createPagingSystem } from "../paging/system.ts";
import { createPruningSystem } from "../pruning/system.ts";
import { fileTouchOf, touchesExcluded } from "../readcache/index.ts";
import { createReadCacheSystem } from "../readcache/system.ts";
import {
	createSession,
	createSessionFileWatch,
	createSessionMark,
	type Ledger,
	type SessionHolder,
	type Spine,
	type System,
} from "../session/index.ts";
import { createWorksetSystem, type TiersView } from "../workset/system.ts";
import { registerStrataCommand, showStart } from "./commands.ts";
import { createPiHost } from "./pi-host.ts";

/** Makes a system for a session. */
export type CreateSystem = (spine: Spine) => System;

/**
 * The pi extension: composes the systems of pi-strata. Pi runs this function again for every session of a process,
 * so all state lives in the session made here. Nothing is started here (pi may load an extension without a session):
 * systems start at `session_start` or on first use, and stop at `session_shutdown`.
 */
export default function strata(pi: ExtensionAPI): void {
	compose(pi, [createSessionFileWatch, ({ host }) => createSessionMark(host.agentDir)]);
}

/** What the host of a session can ask the extension in it. */
export interface StrataInside {
	/** What the model of this session can see. */
	readonly ledger: Ledger;
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

/** Puts the systems into pi, in the order in which they are asked; `more` come first. */
export function compose(pi: ExtensionAPI, more: readonly CreateSystem[] = []): StrataInside {
	const session = createSession(createPiHost(pi), pi);
	// Tools and commands are registered in the order of these lines, and requests list tools in that order.
	const pruning = createPruningSystem(session, { fileTouchOf, touchesExcluded });
	const workset = createWorksetSystem(session, {
		symbolMap: (view, query) => code.symbolMap(view, query),
	});
	const readCache = createReadCacheSystem(session);
	const code = createCodeSystem(session, { subcommands: pruning.commands });
	const economy = createEconomySystem();
	const systems: System[] = [
		...more.map((create) => create(session)),
		createPagingSystem(),
		readCache,
		pruning,
		workset,
		code,
		economy,
	];
	registerStrataCommand(session, { systems, costReport: economy.costReport });
	session.run(systems, (view, failures) => showStart(systems, view, failures));
	return { ledger: session.ledger, tiers: workset.view };
}
