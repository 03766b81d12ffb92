import { type BlobStore, createBlobStore, storeVerified } from "../core/blob-store.ts";
import { INVALIDATION_ENTRY } from "../core/entry-types.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { hashBytes } from "../core/hash.ts";
import { isNestedCall } from "../core/nested-call.ts";
import { shownPath } from "../core/places.ts";
import { property } from "../core/property.ts";
import { decodePageToken, foldReadInput } from "../core/read-input.ts";
import {
	type SessionSource,
	type SessionView,
	type Shortened,
	type System,
	shortenedOf,
	type ToolResultItem,
} from "../session/index.ts";
import { blobNamed, parseShorthand } from "../session/read-path.ts";
import { Birth, type ShortResult } from "./birth.ts";
import { createLoudMatcher } from "./loud.ts";
import { partsFor } from "./parts.ts";
import { nameOf } from "./result.ts";
import { BIRTH_VERSION } from "./settings.ts";

/** What the read cache knows about results. */
export interface ReadFacts {
	/** Whether the details are those of a marker or diff, which stay as they are. */
	isCacheAnswer(details: unknown): boolean;
	/** Whether the result may hold text of an excluded file. */
	touchesExcluded(
		item: Pick<ToolResultItem, "input" | "details">,
		exclude: readonly string[],
		cwd: string,
	): boolean;
}

type ToolResult = Parameters<NonNullable<System["onToolResult"]>>[0];
type TextBlock = { type: "text"; text: string };

export type LiveBirthOptions = Pick<SessionView, "config" | "cwd" | "ledger" | "values">;

/** The name of a stored text, as a command writes it. */
const STORED_NAME = /[0-9a-f]{64}\.txt/;

/** Shortens the results of one session. The index is derived from the ledger, never stored. */
export class LiveBirth {
	/** Results that shadow mode left as they are, and their savings. */
	readonly shadow = { results: 0, savedChars: 0 };
	/** Why a result last stayed as it is although it could be shorter, for the user. */
	lastFailure: string | undefined;
	/** Characters that the answered requests of this process did not hold. */
	savedInRequests = 0;
	readonly #options: LiveBirthOptions;
	readonly #facts: ReadFacts;
	readonly #blobs: BlobStore;
	readonly #isLoud: (input: unknown) => boolean;
	readonly #excluded = new WeakMap<ToolResultItem, boolean>();
	readonly #searched = new WeakMap<ToolResultItem, { revision: number; holds: boolean }>();
	#birth: Birth;
	#epoch = -1;
	/** The results in the index, oldest first, with the texts that they had. */
	#added: Pick<ToolResultItem, "entryId" | "returned">[] = [];
	/** The newest result whose call is unknown, as an index of the log. */
	#unknownAt = -1;
	/** Where the context was last asked to be read again in full, as an index of the log. */
	#refreshedAt = -1;

	constructor(options: LiveBirthOptions, facts: ReadFacts) {
		const { config, values } = options;
		this.#options = options;
		this.#facts = facts;
		this.#blobs = guardBlobs(createBlobStore(config.blobs), values);
		this.#isLoud = createLoudMatcher(config.birth.quietExcept);
		this.#birth = this.#newBirth();
	}

	/** The fields to change; `undefined` if the result stays as it is. */
	async shorten(result: ToolResult, source: SessionSource) {
		const block = this.#shortenable(result);
		if (!block) return undefined;
		this.#advance(source);
		const blob = this.#blobs.nameOf(block.text);
		const short = this.#decide(result, block.text, shownPath(blob.path));
		if (!short || !this.#isUnambiguous(short, result.toolCallId, source)) return undefined;
		const savedChars = block.text.length - short.text.length;
		if (savedChars <= 0) return undefined;
		const { config, values } = this.#options;
		await values.refresh();
		if (values.appearIn(block.text) || this.#isExcludedCall(result, result.toolName))
			return undefined;
		// The scan may have found values in results that were harmless before.
		if (short.references.some(({ base }) => !this.#isBase(base, result))) return undefined;
		if (config.birth.mode === "shadow") {
			this.shadow.results++;
			this.shadow.savedChars += savedChars;
			return undefined;
		}
		const stored = await storeVerified(block.text, this.#blobs);
		if (typeof stored === "string") {
			this.lastFailure = stored;
			return undefined;
		}
		const birth: Shortened = {
			v: 1,
			form: BIRTH_VERSION,
			shown: hashBytes(short.text),
			expanded: hashBytes(short.expanded),
			original: stored.id,
			savedChars,
			references: short.references,
		};
		const details = { ...(result.details as object | undefined), birth };
		// Pi drops structured content if it is not returned along with a changed text.
		const structuredContent = property(result, "structuredContent");
		return {
			content: [{ ...block, text: short.text }],
			details,
			...(structuredContent !== undefined && { structuredContent }),
		};
	}

	/** Call this for each answered request. */
	recordAnswer(source: SessionSource): void {
		for (const [item, { savedChars }] of this.shortened(source)) {
			if (this.#options.ledger.ownVisibility(item).visible) this.savedInRequests += savedChars;
		}
	}

	/** The shortened results in the context. */
	shortened(source: SessionSource): [ToolResultItem, Shortened][] {
		return resultsIn(this.#options.ledger.log(source).items).flatMap((item) => {
			const note = shortenedOf(item);
			return note && item.text === item.returned ? [[item, note]] : [];
		});
	}

	/** The only text of the result, if nothing else depends on it. */
	#shortenable(result: ToolResult): TextBlock | undefined {
		const { content, details, toolCallId, toolName, input, isError } = result;
		// Scripts, not the model, read the results of nested calls.
		if (isError || isNestedCall(toolCallId) || property(result, "parentToolCallId"))
			return undefined;
		if (!Array.isArray(content) || content.length !== 1) return undefined;
		const [block] = content;
		if (property(block, "type") !== "text" || typeof block.text !== "string") return undefined;
		if (!block.text.isWellFormed() || !isPlainObject(details ?? {})) return undefined;
		if (property(details, "birth") !== undefined) return undefined;
		if (this.#facts.isCacheAnswer(details)) return undefined;
		return this.#asksForStored(toolName, input) ? undefined : block;
	}

	/** Whether a call is for a stored text: the model wants it in full. */
	#asksForStored(toolName: string, input: unknown): boolean {
		if (STORED_NAME.test(JSON.stringify(input) ?? "")) return true;
		if (toolName !== "read") return false;
		const path = property(foldReadInput(input), "path");
		if (typeof path !== "string") return true; // unknown, so it may be one
		const { cwd } = this.#options;
		const named = decodePageToken(path)?.uri ?? path;
		const paths = [named, parseShorthand(named)?.path ?? named];
		return paths.some((one) => blobNamed(one, cwd, this.#blobs) !== undefined);
	}

	#decide(result: ToolResult, text: string, path: string): ShortResult | undefined {
		const { toolCallId: id, toolName: tool, input } = result;
		const call = { id, tool, input, text, path, isLoud: this.#isLoud(input) };
		return this.#birth.shorten(call, (base) => this.#isBase(base, result));
	}

	/** Whether a result may refer to that of call `base`. */
	#isBase(base: string, { toolName }: ToolResult): boolean {
		const { ledger } = this.#options;
		const item = ledger.onlyResultOf(base);
		// A result whose call is unknown may have any name, so a name means a newer result only.
		if (!item || item.order <= this.#unknownAt) return false;
		if (!ledger.ownVisibility(item).visible) return false;
		// After a refresh, a read shows again what was shown before.
		if (toolName === "read" && item.order < this.#refreshedAt) return false;
		return !this.#isExcludedItem(item) && !this.#holdsValue(item);
	}

	/** Memoized per revision of the values. */
	#holdsValue(item: ToolResultItem): boolean {
		const { values } = this.#options;
		const known = this.#searched.get(item);
		if (known?.revision === values.revision) return known.holds;
		const holds = values.appearIn(item.returned ?? "");
		this.#searched.set(item, { revision: values.revision, holds });
		return holds;
	}

	#isExcludedItem(item: ToolResultItem): boolean {
		const known = this.#excluded.get(item);
		if (known !== undefined) return known;
		const { config, cwd } = this.#options;
		const isExcluded = this.#facts.touchesExcluded(item, config.readcache.exclude, cwd);
		this.#excluded.set(item, isExcluded);
		return isExcluded;
	}

	#isExcludedCall(result: ToolResult, toolName: string): boolean {
		const { config, cwd } = this.#options;
		if (config.blobs.scope !== "all" && !toolName.startsWith("kota_")) return true;
		return this.#facts.touchesExcluded(result, config.readcache.exclude, cwd);
	}

	/** A reference by name means the newest result above, which may be one of another call of the same answer. */
	#isUnambiguous(short: ShortResult, toolCallId: string, source: SessionSource): boolean {
		if (short.references.length === 0) return true;
		const others = otherCalls(source, toolCallId);
		const { ledger } = this.#options;
		return (
			others !== undefined &&
			short.references.every(({ base }) => {
				const item = ledger.onlyResultOf(base);
				return item && !others.has(nameOf({ tool: item.toolName, input: item.input }));
			})
		);
	}

	#advance(source: SessionSource): void {
		const { epoch, items } = this.#options.ledger.log(source);
		const results = resultsIn(items);
		if (epoch !== this.#epoch && !this.#added.every((one, at) => isSame(one, results[at]))) {
			this.#birth = this.#newBirth();
			this.#added = [];
		}
		this.#epoch = epoch;
		this.#refreshedAt = items.findLastIndex(
			(item) => item.kind === "custom" && item.customType === INVALIDATION_ENTRY,
		);
		this.#unknownAt = items.findLastIndex(
			(item) => item.kind === "toolResult" && item.input === undefined,
		);
		for (const { entryId, toolCallId, toolName, input, returned } of results.slice(
			this.#added.length,
		)) {
			this.#birth.add({ id: toolCallId, tool: toolName, input, text: returned });
			this.#added.push({ entryId, returned });
		}
	}

	#newBirth(): Birth {
		return new Birth(partsFor(this.#options.config.birth));
	}
}

/** Whether the index knows the result as it is. The lines of its references may have been restored since. */
function isSame(
	known: Pick<ToolResultItem, "entryId" | "returned">,
	item: ToolResultItem | undefined,
): boolean {
	return item?.entryId === known.entryId && item.returned === known.returned;
}

function resultsIn(items: ReturnType<SessionView["ledger"]["log"]>["items"]): ToolResultItem[] {
	return items.filter((item) => item.kind === "toolResult");
}

/** The names of the other calls of the answer that made this call; `undefined` if it is not the last one. */
function otherCalls(source: SessionSource, toolCallId: string): Set<string> | undefined {
	const entry = source
		.getBranch()
		.findLast((one) => one.type === "message" && one.message.role === "assistant");
	const content = entry?.type === "message" ? property(entry.message, "content") : undefined;
	if (!Array.isArray(content)) return undefined;
	const calls = content.filter((block) => property(block, "type") === "toolCall");
	const others = calls.filter((call) => property(call, "id") !== toolCallId);
	if (others.length !== calls.length - 1) return undefined;
	return new Set(others.map(({ name, arguments: input }) => nameOf({ tool: String(name), input })));
}

function isPlainObject(value: unknown): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
