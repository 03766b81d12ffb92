import { pathItems } from "../core/complete-path.ts";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import {
	type CustomMessageItem,
	createPerFolder,
	type SessionHolder,
	type SessionView,
	type ShownFile,
	type Spine,
	type System,
	type TurnEnd,
} from "../session/index.ts";
import { counted } from "../text/figures.ts";
import type { TiersView } from "./report.ts";
import type { FetchSymbolMap, Workset } from "./workset.ts";

export type { TiersView } from "./report.ts";

/** Loads the code on first use. */
async function open(session: SessionView) {
	const live = await import("./live.ts");
	return { live, workset: await live.Workset.open(session) };
}

type Opened = Awaited<ReturnType<typeof open>>;

const SUBCOMMANDS = ["add", "drop", "list", "clear", "map"];

/**
 * Pi lets an extension change the session at a prompt and at the end of a turn. Changed files are
 * appended then. Later changes go into the tail of the request. Without a working set, requests are
 * byte for byte pi's own.
 */
export class WorksetSystem implements System {
	readonly name = "tiers";
	readonly #spine: Spine;
	readonly #symbolMap: FetchSymbolMap;
	readonly #perFolder = createPerFolder({ open });
	#saving: Promise<unknown> = Promise.resolve();
	/** Reported with the next turn, since the session may have ended when saving is done. */
	#saveFailure: string | undefined;
	/** Whether the run that is about to start has a prompt. */
	#isPrompted = false;
	/** Whether pi's loop is running. It takes in steered messages before its next request. */
	#isLooping = false;
	/** Whether this branch has or had a working set; `undefined` until looked up. */
	#isUsed: boolean | undefined;

	constructor(spine: Spine, symbolMap: FetchSymbolMap) {
		this.#spine = spine;
		this.#symbolMap = symbolMap;
		this.#registerCommands();
	}

	view({ sessionManager }: SessionHolder): TiersView | undefined {
		const { live, workset } = this.#perFolder.ready ?? {};
		if (!live || !workset || workset.files.length === 0) return undefined;
		return live.tiersView(workset, { sessionManager, edits: this.#spine.edits });
	}

	shownBy({ customType, texts }: CustomMessageItem): readonly ShownFile[] | undefined {
		if (customType !== WORKSET_ENTRY) return [];
		// `undefined` before the code is loaded, so all files count as possibly shown.
		return this.#perFolder.ready?.live.filesIn(texts);
	}

	shownInRequest(): readonly ShownFile[] | undefined {
		return this.#perFolder.ready?.workset.transientFiles;
	}

	status({ config }: SessionView) {
		if (!config.tiers.enabled) return { on: false, why: "tiers.enabled is false" };
		const files = this.#perFolder.ready?.workset.files.length ?? 0;
		if (files > 0) return { on: true, why: counted(files, "working file") };
		const isUnread = this.#isUsed === true && !this.#perFolder.ready;
		const why = isUnread
			? "the next prompt reads the working files of this session"
			: "no working files yet: /workset add <path> shows a file in every request, as it is on disk";
		return { on: true, why };
	}

	async start(session: SessionView): Promise<void> {
		this.#isUsed = session.config.tiers.enabled && isUsed(session);
		this.#saveFailure = undefined;
		await this.#perFolder.clear();
	}

	async stop(): Promise<void> {
		await this.#saving;
		await this.#perFolder.clear();
	}

	async onCompaction(session: SessionView): Promise<void> {
		// Outside the loop, a prompt or a run start comes before the next request and appends the files.
		if (this.#isLooping) await this.#appendBeforeRequest(session);
	}

	async onRunStart(session: SessionView): Promise<void> {
		this.#isLooping = true;
		// A run without a prompt is a retry. Files may have changed since the last request.
		if (!this.#isPrompted) await this.#appendBeforeRequest(session);
		this.#isPrompted = false;
	}

	onRunEnd(): void {
		this.#isLooping = false;
	}

	onBranch(): void {
		this.#isUsed = undefined;
		// These files belong to the branch that was left.
		if (this.#perFolder.ready) this.#perFolder.ready.workset.transientFiles = [];
	}

	async onPrompt(_prompt: string | undefined, session: SessionView) {
		this.#isPrompted = true;
		const opened = await this.#inUse(session);
		if (!opened) return undefined;
		const { live, workset } = opened;
		await workset.refreshFiles(session);
		if (workset.wantsMap(session)) {
			if (session.cache.coldness.cold || !workset.map) {
				await workset.refreshMap(session, this.#symbolMap);
			}
		} else {
			workset.map = undefined;
			workset.noMapReason = undefined;
		}
		const messages = live.planNow(workset, session);
		// Before the first prompt, the session does not have the system prompt, which must come first.
		if (!hasSystemPrompt(session)) return live.inOneMessage(messages);
		const { host } = this.#spine;
		for (const message of messages) host.sendMessage(message, { triggerTurn: false });
		return undefined;
	}

	async onRequest(messages: readonly { readonly role: string }[], session: SessionView) {
		const opened = await this.#inUse(session);
		if (!opened) return messages;
		const { live, workset } = opened;
		await workset.refreshFiles(session);
		workset.countRequest();
		return live.withWorkset(workset, messages, session);
	}

	onPayload(payload: unknown, { config, model }: SessionView): object | undefined {
		const { live, workset } = this.#perFolder.ready ?? {};
		if (!live || !workset || !config.tiers.enabled) return undefined;
		if (model?.api !== "anthropic-messages") return undefined;
		return live.withBreakpoints(workset, payload);
	}

	onToolResult(result: Parameters<Workset["recordEdit"]>[0], { config }: SessionView): undefined {
		if (config.tiers.enabled) this.#perFolder.ready?.workset.recordEdit(result);
	}

	async onAnswer(answer: { message: unknown; failed: boolean }, session: SessionView) {
		if (answer.failed) return; // the model has not seen a failed request
		(await this.#inUse(session))?.workset.recordAnswer(answer.message, session);
	}

	async onTurnEnd(turn: TurnEnd, session: SessionView) {
		const opened = await this.#inUse(session);
		if (!opened) return [];
		const { live, workset } = opened;
		if (this.#saveFailure) session.ui.notify(`pi-strata: ${this.#saveFailure}`, "warning");
		this.#saveFailure = undefined;
		this.#saving = workset.stateFile.save(workset.controller.toJSON()).then((why) => {
			this.#saveFailure ??= why;
		});
		return await live.turnEndEntries(workset, session, isLastOfRun(turn));
	}

	#registerCommands(): void {
		const { host } = this.#spine;
		host.registerCommand("workset", {
			description:
				"Files in every request, always up to date: /workset add | drop | list | clear | map",
			getArgumentCompletions(prefix) {
				const [, before, typed] = /^(\s*(?:add|drop)\s+(?:\S+\s+)*)(\S*)$/.exec(prefix) ?? [];
				if (before !== undefined) return pathItems(before, typed ?? "");
				const names = SUBCOMMANDS.filter((name) => name.startsWith(prefix.trim()));
				return names.length > 0 ? names.map((name) => ({ value: name, label: name })) : null;
			},
			handler: (args, ctx) =>
				this.#report(ctx, ({ live, workset }, session) => {
					const onSelected = () => (this.#isUsed = true);
					return live.runWorkset({ args, workset, session, host, onSelected });
				}),
		});
		host.registerCommand("tiers", {
			description:
				"Show the working files, how stable they are (their tiers), and their places in the request",
			handler: (_args, ctx) =>
				this.#report(ctx, ({ live, workset }, session) => live.runTiers(workset, session)),
		});
	}

	async #report(
		ctx: Parameters<Spine["at"]>[0],
		run: (opened: Opened, session: SessionView) => Promise<string>,
	): Promise<void> {
		const session = this.#spine.at(ctx);
		const text = session.config.tiers.enabled
			? await run(await this.#perFolder.get(session), session)
			: "The working set is off: tiers.enabled is false.";
		this.#spine.host.report(session, text);
	}

	/** For models without a tail. Appends nothing behind a steered message, since that triggers a request. */
	async #appendBeforeRequest(session: SessionView): Promise<void> {
		const opened = await this.#inUse(session);
		if (!opened || !session.cache.rules.bindsThinking) return;
		const { live, workset } = opened;
		await workset.refreshFiles(session);
		if (session.hasPendingMessages()) return;
		const message = live.inOneMessage(live.planNow(workset, session));
		if (message) this.#spine.host.sendMessage(message, { deliverAs: "steer" });
	}

	/** Loads nothing for a branch that never had a working set. */
	async #inUse(session: SessionView): Promise<Opened | undefined> {
		if (!session.config.tiers.enabled) return undefined;
		this.#isUsed ??= isUsed(session);
		if (!this.#isUsed) return undefined;
		const opened = await this.#perFolder.get(session);
		if (session.cache.rules.bindsThinking) opened.live.restorePendingEdits(session);
		return opened;
	}
}

function isUsed({ sessionManager, config }: SessionView): boolean {
	const isOurs = (entry: unknown) => property(entry, "customType") === WORKSET_ENTRY;
	return config.tiers.map || sessionManager.getBranch().some(isOurs);
}

/** Whether a prompt comes before the next request, as far as known at the end of a turn. */
function isLastOfRun({ toolResults, context, continue: goesOn }: TurnEnd): boolean {
	return toolResults.length === 0 && context.pendingMessages.length === 0 && !goesOn;
}

function hasSystemPrompt({ sessionManager }: SessionView): boolean {
	const messages = sessionManager.getBranch().filter((entry) => entry.type === "message");
	return messages.some(({ message }) => (message.role as string) === "system");
}
