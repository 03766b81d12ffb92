import { countIn, property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import { isStub } from "../pruning/index.ts";
import { shortenedOf, textOf } from "../session/index.ts";
import { billIn, type ContextEdit, type Entries, editsIn, type SessionEntry } from "./entries.ts";

/** The systems that keep text out of prompts, in the order in which their savings are counted. */
export const SAVING_SYSTEMS = ["pruning", "readCache", "birth"] as const;
export type SavingSystem = (typeof SAVING_SYSTEMS)[number];

/** `fresh`: removed text that would be new in this request. `standing`: removed text of earlier requests. */
export interface RemovedTokens {
	readonly fresh: number;
	readonly standing: number;
}

export type RemovedBySystem = ReadonlyMap<SavingSystem, RemovedTokens>;

/** Removed tokens of each request, keyed by the id of its answer's entry. */
export function removedTokens(branch: readonly SessionEntry[]): Map<string, RemovedBySystem> {
	const found = new Map<string, RemovedBySystem>();
	const removed = new RemovedText(branch);
	for (const entry of branch) {
		removed.add(entry);
		if (!billIn(entry)) continue;
		const now = removed.take();
		if (now.size > 0) found.set(entry.id, now);
	}
	return found;
}

/** Tokens that our systems keep out of the next request of a branch. */
export function removedFromNext(branch: readonly SessionEntry[]): number {
	const removed = new RemovedText(branch);
	for (const entry of branch) removed.add(entry);
	const all = [...removed.take().values()];
	return all.reduce((sum, { fresh, standing }) => sum + fresh + standing, 0);
}

/** The text that is not in the context because of our systems, entry by entry. */
class RemovedText {
	readonly #byId: Entries;
	readonly #order: ReadonlyMap<string, number>;
	/** One for each system and entry: what is pruned may have been short before. */
	#standing = new Map<string, { id: string; system: SavingSystem; tokens: number }>();
	#fresh = new Map<SavingSystem, number>();

	constructor(branch: readonly SessionEntry[]) {
		this.#byId = new Map(branch.map((entry) => [entry.id, entry]));
		this.#order = new Map(branch.map((entry, index) => [entry.id, index]));
	}

	add(entry: SessionEntry): void {
		const edits = editsIn(entry);
		for (const edit of edits) this.#add(edit);
		if (edits.length === 0) this.#add(entry);
	}

	#add(entry: SessionEntry): void {
		const isEdit = entry.type === "context_edit";
		const id = isEdit ? entry.targetId : entry.id;
		const removed = removedBy(entry, this.#byId);
		if (isEdit && !removed) {
			this.#standing.delete(keyOf("birth", id)); // its lines may be back
			this.#standing.delete(keyOf("pruning", id)); // its text is back
		}
		if (removed) {
			const { system, tokens } = removed;
			this.#standing.set(keyOf(system, id), { id, system, tokens });
			// A pruned result was sent before. A marker replaces text that would be new.
			if (!isEdit) this.#fresh.set(system, (this.#fresh.get(system) ?? 0) + tokens);
		}
		if (entry.type !== "compaction") return;
		const from = this.#order.get(entry.firstKeptEntryId ?? "") ?? Number.POSITIVE_INFINITY;
		const kept = [...this.#standing].filter(([, { id }]) => (this.#order.get(id) ?? -1) >= from);
		this.#standing = new Map(kept);
		this.#fresh.clear();
	}

	/** For the request that is sent now. */
	take(): RemovedBySystem {
		const found = new Map<SavingSystem, RemovedTokens>();
		for (const [system, own] of Map.groupBy(this.#standing.values(), ({ system }) => system)) {
			const all = own.reduce((sum, { tokens }) => sum + tokens, 0);
			const fresh = Math.min(this.#fresh.get(system) ?? 0, all);
			if (all > 0) found.set(system, { fresh, standing: all - fresh });
		}
		this.#fresh.clear();
		return found;
	}
}

function keyOf(system: SavingSystem, id: string): string {
	return `${system} ${id}`;
}

/** Tokens that the read cache, savings at birth or pruning kept out of the context. */
export function removedBy(entry: SessionEntry, byId: Entries) {
	if (entry.type === "context_edit") return removedByStub(entry, byId.get(entry.targetId));
	if (entry.type !== "message" || entry.message.role !== "toolResult") return undefined;
	const { details, content } = entry.message;
	const short = property(details, "birth") === undefined ? undefined : shortenedOf({ details });
	if (short) {
		const label = `result of ${entry.message.toolName}`;
		return { system: "birth" as const, label, tokens: estimateTokens(short.savedChars) };
	}
	const note = property(details, "readcache");
	const label = LABELS_BY_MODE.get(String(property(note, "mode")));
	const plainBytes = countIn(note, "plainBytes");
	const shown = textOf(content);
	if (!label || plainBytes === 0 || shown === undefined) return undefined;
	const bytes = Math.max(0, plainBytes - Buffer.byteLength(shown));
	return { system: "readCache" as const, label, tokens: estimateTokens(bytes) };
}

const LABELS_BY_MODE: ReadonlyMap<string, string> = new Map([
	["unchanged", "unchanged file"],
	["unchanged_range", "unchanged lines"],
	["diff", "diff"],
]);

function removedByStub(edit: ContextEdit, target: SessionEntry | undefined) {
	const stub = textOf(edit.replacement?.content);
	if (!stub || !isStub(stub)) return undefined;
	if (target?.type !== "message" || target.message.role !== "toolResult") return undefined;
	const before = textOf(target.message.content);
	if (before === undefined) return undefined;
	return {
		system: "pruning" as const,
		label: `result of ${target.message.toolName}`,
		tokens: estimateTokens(Math.max(0, before.length - stub.length)),
	};
}
