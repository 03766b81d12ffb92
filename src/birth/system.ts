import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	createPerFolder,
	type SessionView,
	type System,
	shortenedOf,
	type TurnEnd,
} from "../session/index.ts";
import { counted, grouped } from "../text/figures.ts";
import type { LiveBirth, ReadFacts } from "./live.ts";
import { restoredEntries, restoreLines, withRestored } from "./restore.ts";

type ToolResult = Parameters<NonNullable<System["onToolResult"]>>[0];
type Answer = Parameters<NonNullable<System["onAnswer"]>>[0];

/** Shortens results before any request contains them. Must be the last system that changes results. */
export class BirthSystem implements System {
	readonly name = "birth";
	readonly #perFolder: ReturnType<typeof createPerFolder<LiveBirth>>;

	constructor(facts: ReadFacts) {
		this.#perFolder = createPerFolder({
			open: async (session) => {
				const { LiveBirth } = await import("./live.ts");
				const { config, cwd, ledger, values } = session;
				return new LiveBirth({ config, cwd, ledger, values }, facts);
			},
		});
	}

	status({ config }: SessionView) {
		const { mode } = config.birth;
		if (mode === "off") return { on: false, why: "birth.mode is off" };
		if (mode === "shadow")
			return { on: true, why: "shadow: counts only, results stay as they are" };
		if (!config.blobs.enabled) return { on: false, why: "blobs.enabled is false" };
		return { on: true, why: "new results refer to lines in view, and output of commands is quiet" };
	}

	/** Evicts old texts in the background, in every mode. Those of results in view count as used. */
	async start(session: SessionView): Promise<void> {
		await this.#perFolder.clear();
		void sweepExcept(originalsIn(session), createBlobStore(session.config.blobs));
	}

	stop(): Promise<void> {
		return this.#perFolder.clear();
	}

	/** In every mode, since an earlier process may have shortened results. */
	async onRequest(messages: readonly { readonly role: string }[], session: SessionView) {
		if (!messages.some(({ role }) => role === "toolResult")) return messages;
		restoreLines(session);
		return withRestored(messages, session);
	}

	async onTurnEnd({ entries }: TurnEnd, session: SessionView) {
		return restoredEntries(session, entries);
	}

	async onToolResult(result: ToolResult, session: SessionView) {
		if (session.config.birth.mode === "off" || isTooShort(session)) return undefined;
		return (await this.#perFolder.get(session)).shorten(result, session.sessionManager);
	}

	async onAnswer({ billed }: Answer, session: SessionView): Promise<void> {
		if (!billed || session.config.birth.mode === "off") return;
		(await this.#perFolder.get(session)).recordAnswer(session.sessionManager);
	}

	/** What was saved, for the user. Empty if nothing was. */
	async savings(session: SessionView): Promise<string[]> {
		if (session.config.birth.mode === "off") return [];
		const live = await this.#perFolder.get(session);
		const { shadow, lastFailure, savedInRequests } = live;
		const shortened = live.shortened(session.sessionManager);
		const saved = shortened.reduce((sum, [, { savedChars }]) => sum + savedChars, 0);
		const lines: string[] = [];
		if (saved > 0) {
			lines.push(
				`at birth: ${counted(shortened.length, "result")} in view, shorter by ${size(saved)}; requests since the start were shorter by ${size(savedInRequests)}`,
			);
		}
		if (shadow.results > 0) {
			lines.push(
				`at birth, shadow: ${counted(shadow.results, "result")} would have been shorter by ${size(shadow.savedChars)}`,
			);
		}
		if (lastFailure !== undefined)
			lines.push(`at birth: a result stayed as it was: ${lastFailure}`);
		return lines;
	}
}

/** Bounds the texts that are read at the start. */
const MAX_ORIGINALS = 500;

/** The exact texts of shortened results in the context, of the newest ones. */
function originalsIn({ ledger, sessionManager }: SessionView): string[] {
	const originals = ledger.log(sessionManager).items.flatMap((item) => {
		return item.kind === "toolResult" ? (shortenedOf(item)?.original ?? []) : [];
	});
	return [...new Set(originals)].slice(-MAX_ORIGINALS);
}

/** Never rejects: the store returns failures. */
async function sweepExcept(originals: readonly string[], blobs: BlobStore): Promise<void> {
	for (const id of originals) await blobs.load(id);
	await blobs.sweep();
}

/** Whether a shorter result could keep the next prompt below the shortest one that is cached: that costs more. */
function isTooShort({ window, cache }: SessionView): boolean {
	return window.tokens !== undefined && window.tokens < cache.rules.minimumTokens;
}

function size(characters: number): string {
	return `${grouped(characters)} characters (about ${grouped(estimateTokens(characters))} tokens)`;
}
