import { randomUUID } from "node:crypto";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LoadedConfig } from "../core/config.ts";
import { property } from "../core/property.ts";
import type { ShownBy } from "../readcache/index.ts";
import type * as Tiers from "../tiers/index.ts";
import { type ColdWatch, createColdWatch } from "./cold-watch.ts";
import type { Report } from "./report.ts";
import type { System } from "./system.ts";
import { registerWorksetCommands } from "./workset-commands.ts";
import {
	changesNow,
	countRequest,
	type MapEntry,
	NO_CHANGES,
	noteAnswered,
	type OpenWorkset,
	openWorkset,
	refreshFiles,
	selectionNow,
	symbolMapOf,
	textsNow,
} from "./workset-session.ts";

/** What the working set needs of the composition root. */
export interface TiersSurroundings {
	pi: ExtensionAPI;
	report: Report;
	/** The configuration in force for a session, and where it comes from. */
	loadedFor(ctx: ExtensionContext): LoadedConfig;
	/** A map of the project's symbols; rejects when there is no index, and none may be made. */
	symbolMap(
		ctx: ExtensionContext,
		query: { budgetTokens: number; exclude: readonly string[] },
	): Promise<{ readonly blocks: readonly MapEntry[] }>;
}

/**
 * Puts the working set into pi. Between two requests pi lets an extension change the session at the end of a turn, and
 * when a prompt comes in: there files that changed are appended. What cannot be done there, or changed since, stands in
 * the request itself, at its end. Without a working set, requests are pi's own to the last byte.
 */
export function createTiersSystem(surroundings: TiersSurroundings): System & {
	/** The files that a message of the working set shows. */
	shownBy: ShownBy;
} {
	const { pi, report, loadedFor, symbolMap } = surroundings;
	let open: { cwd: string; opening: Promise<OpenWorkset>; ready?: OpenWorkset } | undefined;
	let saving: Promise<unknown> = Promise.resolve();
	let watch: ColdWatch = createColdWatch();
	let enabled = true;
	/** Whether this branch has or had a working set; `undefined` until somebody looks. */
	let used: boolean | undefined;

	pi.on("session_start", (event) => {
		if (event.reason === "resume" || event.reason === "startup") watch.note("resumed");
		if (event.reason === "fork") watch.note("branched");
	});
	pi.on("session_compact", () => watch.note("compacted"));
	pi.on("session_tree", () => {
		watch.note("branched");
		used = undefined;
		open?.ready?.pending.clear(); // they belong to the branch that was left
	});

	pi.on("before_agent_start", async (_event, ctx) => {
		const session = await inUse(ctx);
		if (!session) return;
		await refreshFiles(session, ctx);
		const cold = isCold(session, ctx);
		if (selectionNow(session, ctx).map ?? session.settings.tiers.map) {
			if (cold || !session.map) await refreshMap(session, ctx);
		} else session.map = undefined;
		if (session.settings.tiers.layout === "tiers") return;
		const { append, edits } = changesNow(session, ctx, cold);
		holdBack(session, ctx, edits);
		const [first, ...more] = append.map((content) => worksetMessage(content));
		if (!first) return;
		// Before the first prompt the system prompt is not in the session yet, and must stay its beginning.
		if (!hasSystemPrompt(ctx)) return { message: first };
		for (const message of [first, ...more]) pi.sendMessage(message, { triggerTurn: false });
	});

	pi.on("context_with_system", async (event, ctx) => {
		watch.noteSent(sentNow(ctx));
		const session = await inUse(ctx);
		if (!session) return;
		await refreshFiles(session, ctx);
		countRequest(session);
		if (session.settings.tiers.layout === "tiers") return withPrefix(session, event.messages, ctx);
		const messages = event.messages.flatMap((message) => withPending(session, message));
		const shown = messages.filter(isOurs).map(textsOf);
		const tail = session.tiers.tailFor(shown, textsNow(session), session.tailTag);
		session.hasTail = tail !== undefined;
		if (!tail && session.pending.size === 0) return;
		return { messages: tail ? [...messages, tail] : messages };
	});

	pi.on("before_provider_request", (event, ctx) => {
		watch.noteUse(Date.now());
		const session = open?.ready;
		if (!enabled || !session || ctx.model?.api !== "anthropic-messages") return;
		const { tiers, tailTag, prefix } = session;
		if (prefix.length > 0) return tiers.withTierMarkers(event.payload, prefix);
		if (session.hasTail) return tiers.withMarkerBeforeTail(event.payload, tailTag);
	});

	pi.on("message_end", async ({ message }, ctx) => {
		if (message.role !== "assistant") return;
		// Requests that failed were not seen.
		if (message.stopReason === "error" || message.stopReason === "aborted") return;
		const session = await inUse(ctx);
		if (session) noteAnswered(session, message, ctx);
	});

	registerWorksetCommands({
		pi,
		report,
		opened,
		isEnabled: () => enabled,
		onSelected: () => (used = true),
	});

	return {
		name: "tiers",
		shownBy({ customType, texts }) {
			if (customType !== TYPE) return [];
			// Before the code is loaded nobody can tell: then all files count as possibly shown.
			return open?.ready?.tiers.filesIn(texts);
		},
		status() {
			if (!enabled) return { on: false, why: "tiers.enabled is false" };
			const files = open?.ready?.files.length ?? 0;
			const what =
				files > 0 ? `${files} working files` : "no working files yet: /workset add <path>";
			return { on: true, why: what };
		},
		async draftsAt({ toolResults }, ctx) {
			const session = await inUse(ctx);
			if (!session) return [];
			saving = session.stateFile.save(session.controller.toJSON());
			if (session.settings.tiers.layout === "tiers") return [];
			const branch = new Set(ctx.sessionManager.getBranch().map(({ id }) => id));
			const waiting = [...session.pending.values()];
			// The end of a run: before the next request a prompt will come in, and until then files may change again.
			const isLast = toolResults.length === 0;
			if (!isLast) await refreshFiles(session, ctx);
			const { append, edits } = isLast ? NO_CHANGES : changesNow(session, ctx, false);
			session.pending.clear();
			return [
				...waiting
					// One entry that is not there would cost everybody's drafts.
					.filter(({ entryId }) => branch.has(entryId) && !edits.has(entryId))
					.map(({ entryId, content }) => editOf(entryId, content)),
				...Array.from(edits, ([entryId, content]) => editOf(entryId, content)),
				...append.map((content) => ({
					type: "custom_message" as const,
					...worksetMessage(content),
				})),
			];
		},
		start({ ctx }) {
			enabled = loadedFor(ctx).config.tiers.enabled;
			open = undefined;
			used = undefined;
			watch = createColdWatch();
		},
		async stop() {
			await saving;
			open = undefined;
		},
	};
	/** The working set, if this branch has or had one; otherwise nothing is loaded and nothing looked at. */
	async function inUse(ctx: ExtensionContext): Promise<OpenWorkset | undefined> {
		if (!enabled) return undefined;
		used ??= isUsed(ctx);
		return used ? await opened(ctx) : undefined;
	}

	async function opened(ctx: ExtensionContext): Promise<OpenWorkset> {
		if (open?.cwd === ctx.cwd) return await open.opening;
		const entry: typeof open = {
			cwd: ctx.cwd,
			opening: openWorkset(loadedFor(ctx), ctx),
		};
		open = entry;
		entry.ready = await entry.opening;
		return entry.ready;
	}

	function isUsed(ctx: ExtensionContext): boolean {
		const branch = ctx.sessionManager.getBranch();
		return (
			loadedFor(ctx).config.tiers.map ||
			branch.some((entry) => property(entry, "customType") === TYPE)
		);
	}

	async function refreshMap(session: OpenWorkset, ctx: ExtensionContext): Promise<void> {
		const exclude = session.files.map(({ path }) => path);
		const budgetTokens = session.settings.tiers.mapTokens;
		// Without an index there is no map, and the session goes on without one.
		const map = await symbolMap(ctx, { budgetTokens, exclude }).catch(() => undefined);
		session.map = map && symbolMapOf(map.blocks);
	}

	function isCold(session: OpenWorkset, ctx: ExtensionContext): boolean {
		const rules = session.economy.rulesFor(ctx.model ?? UNKNOWN_MODEL);
		return session.economy.isCold(watch.since(sentNow(ctx), rules, session.ttl)).cold;
	}

	/** What counts as another request; changes of system prompt and tools are seen too late to be of use here. */
	function sentNow({ model }: ExtensionContext) {
		return {
			atMs: Date.now(),
			model: `${model?.provider}/${model?.id}`,
			thinking: pi.getThinkingLevel(),
			head: "",
		};
	}
}

/** As in `tiers/`, which is loaded only when there is a working set. */
const TYPE = "strata-workset";

/** Edits that no turn has ended for yet: until then they are made in each request. */
function holdBack(session: OpenWorkset, ctx: ExtensionContext, edits: Edits): void {
	for (const [entryId, content] of edits) {
		const id = property(property(ctx.sessionManager.getEntry(entryId), "details"), "id");
		if (typeof id === "string") session.pending.set(id, { entryId, content });
	}
}

const UNKNOWN_MODEL = { provider: "unknown", id: "unknown" };

type Edits = Tiers.SessionChanges["edits"];
type Sent = { role: string; content?: unknown };

function withPending<Message>({ pending }: OpenWorkset, message: Message): Message[] {
	if (pending.size === 0) return [message];
	const edit = pending.get(String(property(property(message, "details"), "id")));
	if (!edit) return [message];
	return edit.content === null ? [] : [{ ...message, content: edit.content }];
}

function isOurs(message: unknown): boolean {
	return property(message, "role") === "custom" && property(message, "customType") === TYPE;
}

function textsOf(message: unknown): string[] {
	const content = property(message, "content");
	if (!Array.isArray(content)) return [String(content)];
	return content.map((block) => String(property(block, "text")));
}

/** Puts the tiers between system prompt and conversation. */
function withPrefix<Message extends Sent>(
	session: OpenWorkset,
	messages: readonly Message[],
	ctx: ExtensionContext,
): { messages: Message[] } | undefined {
	const { tiers, economy, controller, files, map } = session;
	session.prefix = tiers.tierPrefix({
		files,
		symbols: map?.entries ?? [],
		items: controller.items(),
		minimumTokens: economy.rulesFor(ctx.model ?? UNKNOWN_MODEL).minimumTokens,
	});
	if (session.prefix.length === 0) return undefined;
	const at = messages.findIndex(({ role }) => role !== "system");
	const prefix = session.prefix.map((one) => piMessage(one, ctx) as unknown as Message);
	return { messages: messages.toSpliced(at < 0 ? messages.length : at, 0, ...prefix) };
}

/** A message as pi holds it; an assistant's has to say by which model. */
function piMessage({ role, text }: Tiers.PrefixMessage, { model }: ExtensionContext): object {
	const content = [{ type: "text", text }];
	if (role === "user") return { role, content, timestamp: 0 };
	const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	return {
		role,
		content,
		api: model?.api,
		provider: model?.provider,
		model: model?.id,
		usage: { ...none, totalTokens: 0, cost: none },
		stopReason: "stop",
		timestamp: 0,
	};
}

function editOf(targetId: string, content: Tiers.TextBlock[] | null) {
	return { type: "context_edit" as const, targetId, replacement: content && { content } };
}

function worksetMessage(content: Tiers.TextBlock[]) {
	return { customType: TYPE, content, display: false, details: { v: 1, id: randomUUID() } };
}

function hasSystemPrompt({ sessionManager }: ExtensionContext): boolean {
	return sessionManager
		.getBranch()
		.some((entry) => entry.type === "message" && (entry.message.role as string) === "system");
}
