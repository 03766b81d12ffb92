import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import {
	createPerFolder,
	type SessionHolder,
	type SessionView,
	type Spine,
	type System,
	type TurnEnd,
} from "../session/index.ts";
import { counted } from "../text/figures.ts";
import type { TiersView } from "./report.ts";
import type { AskMap } from "./workset.ts";

export type { TiersView } from "./report.ts";

/** Loads the code on first use. */
async function open(session: SessionView) {
	const live = await import("./live.ts");
	return { live, workset: await live.openWorkset(session) };
}

type Opened = Awaited<ReturnType<typeof open>>;

const SUBCOMMANDS = ["add", "drop", "list", "clear", "map"];

/**
 * Pi lets an extension change the session at the end of a turn and at a prompt: changed files are
 * appended there. Later changes go into the request's tail. Without a working set, requests are
 * pi's own to the last byte.
 */
export function createWorksetSystem(
	{ host, at, edits }: Spine,
	/** Rejects without an index. */
	symbolMap: (session: SessionView, ...query: Parameters<AskMap>) => ReturnType<AskMap>,
): System & {
	view(session: SessionHolder): TiersView | undefined;
} {
	const perFolder = createPerFolder({ open });
	let saving: Promise<unknown> = Promise.resolve();
	/** Reported with the next turn: the session may be gone when saving ends. */
	let unsaved: string | undefined;
	/** The starting run had a prompt. */
	let prompted = false;
	/** Pi's loop runs, and takes in steered messages before its next request. */
	let isLooping = false;
	/** Whether this branch has or had a working set; `undefined` until looked up. */
	let used: boolean | undefined;

	host.registerCommand("workset", {
		description:
			"Files that are in every request, always up to date: /workset add | drop | list | clear | map",
		getArgumentCompletions(prefix) {
			const names = SUBCOMMANDS.filter((name) => name.startsWith(prefix.trim()));
			return names.length > 0 ? names.map((name) => ({ value: name, label: name })) : null;
		},
		handler: (args, ctx) =>
			answer(at(ctx), ({ live, workset }, session) =>
				live.runWorkset({ args, workset, session, host, onSelected: () => (used = true) }),
			),
	});
	host.registerCommand("tiers", {
		description: "Show how stable the working files are, and where they stand in the request",
		handler: (_args, ctx) =>
			answer(at(ctx), ({ live, workset }, session) => live.runTiers(workset, session)),
	});

	return {
		name: "tiers",
		view(session) {
			const { live, workset } = perFolder.ready ?? {};
			if (!live || !workset || workset.files.length === 0) return undefined;
			return live.tiersView(workset, { sessionManager: session.sessionManager, edits });
		},
		shownBy({ customType, texts }) {
			if (customType !== WORKSET_ENTRY) return [];
			// Unknown before the code is loaded: all files count as possibly shown.
			return perFolder.ready?.live.filesIn(texts);
		},
		shownInRequest: () => perFolder.ready?.workset.beside,
		status({ config }) {
			if (!config.tiers.enabled) return { on: false, why: "tiers.enabled is false" };
			const files = perFolder.ready?.workset.files.length ?? 0;
			if (files > 0) return { on: true, why: counted(files, "working file") };
			const isUnread = used === true && !perFolder.ready;
			return {
				on: true,
				why: isUnread
					? "what was kept from before is read with the next prompt"
					: "no working files yet: /workset add <path>",
			};
		},
		async start(session) {
			used = session.config.tiers.enabled && isUsed(session);
			unsaved = undefined;
			await perFolder.clear();
		},
		async stop() {
			await saving;
			await perFolder.clear();
		},
		async onCompaction(session) {
			// Outside the loop, a prompt or run start precedes the next request.
			if (isLooping) await appendBeforeRequest(session);
		},
		async onRunStart(session) {
			isLooping = true;
			// A retry without a prompt: files may have changed meanwhile.
			if (!prompted) await appendBeforeRequest(session);
			prompted = false;
		},
		onRunEnd() {
			isLooping = false;
		},
		onBranch() {
			used = undefined;
			// It belongs to the branch that was left.
			if (perFolder.ready) perFolder.ready.workset.beside = [];
		},
		async onPrompt(_prompt, session) {
			prompted = true;
			const opened = await inUse(session);
			if (!opened) return undefined;
			const { live, workset } = opened;
			await live.refreshFiles(workset, session);
			if (live.wantsMap(workset, session)) {
				if (session.cache.coldness.cold || !workset.map) {
					await live.refreshMap(workset, session, (query) => symbolMap(session, query));
				}
			} else {
				workset.map = undefined;
				workset.noMap = undefined;
			}
			const messages = live.planNow(workset, session);
			// Before the first prompt the system prompt is not in the session, and must stay first.
			if (!hasSystemPrompt(session)) return live.inOneMessage(messages);
			for (const message of messages) host.sendMessage(message, { triggerTurn: false });
			return undefined;
		},
		async onRequest(messages, session) {
			const opened = await inUse(session);
			if (!opened) return messages;
			const { live, workset } = opened;
			await live.refreshFiles(workset, session);
			live.countRequest(workset);
			return live.withWorkset(workset, messages, session);
		},
		onPayload(payload, { config, model }) {
			const { live, workset } = perFolder.ready ?? {};
			if (!live || !workset || !config.tiers.enabled) return undefined;
			if (model?.api !== "anthropic-messages") return undefined;
			return live.withMarkers(workset, payload);
		},
		onToolResult(result, { config }) {
			const { live, workset } = perFolder.ready ?? {};
			if (config.tiers.enabled && workset) live?.noteEdit(workset, result);
			return undefined;
		},
		async onAnswer({ message, failed }, session) {
			if (failed) return; // the model has not seen a failed request
			const opened = await inUse(session);
			opened?.live.noteAnswered(opened.workset, message, session);
		},
		async onTurnEnd(turn, session) {
			const opened = await inUse(session);
			if (!opened) return [];
			const { live, workset } = opened;
			if (unsaved !== undefined) session.ui.notify(`pi-strata: ${unsaved}`, "warning");
			unsaved = undefined;
			saving = workset.stateFile.save(workset.controller.toJSON()).then((why) => {
				unsaved ??= why;
			});
			return await live.turnEndDrafts(workset, session, isLastOfRun(turn));
		},
	};

	async function answer(
		session: SessionView,
		run: (opened: Opened, session: SessionView) => Promise<string>,
	): Promise<void> {
		const text = session.config.tiers.enabled
			? await run(await perFolder.get(session), session)
			: "The working set is off: tiers.enabled is false.";
		host.report(session, text);
	}

	/**
	 * For models without a tail. Pi takes one steered message at a time: behind the user's, ours
	 * would wait and then trigger another request.
	 */
	async function appendBeforeRequest(session: SessionView): Promise<void> {
		const opened = await inUse(session);
		if (!opened || !session.cache.rules.bindsThinking) return;
		const { live, workset } = opened;
		await live.refreshFiles(workset, session);
		if (session.hasPendingMessages()) return;
		const message = live.inOneMessage(live.planNow(workset, session));
		if (message) host.sendMessage(message, { deliverAs: "steer" });
	}

	/** Loads nothing for a branch that never had a working set. */
	async function inUse(session: SessionView): Promise<Opened | undefined> {
		if (!session.config.tiers.enabled) return undefined;
		used ??= isUsed(session);
		if (!used) return undefined;
		const opened = await perFolder.get(session);
		if (session.cache.rules.bindsThinking) opened.live.holdBackShown(session);
		return opened;
	}
}

function isUsed({ sessionManager, config }: SessionView): boolean {
	return (
		config.tiers.map ||
		sessionManager.getBranch().some((entry) => property(entry, "customType") === WORKSET_ENTRY)
	);
}

/** Whether a prompt precedes the next request, as far as known at the end of a turn. */
function isLastOfRun({ toolResults, context, continue: goesOn }: TurnEnd): boolean {
	return toolResults.length === 0 && context.pendingMessages.length === 0 && !goesOn;
}

function hasSystemPrompt({ sessionManager }: SessionView): boolean {
	return sessionManager
		.getBranch()
		.some((entry) => entry.type === "message" && (entry.message.role as string) === "system");
}
