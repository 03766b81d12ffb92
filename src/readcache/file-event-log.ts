import { join } from "node:path";
import { type Hash, hashBytes } from "../core/hash.ts";
import { property } from "../core/property.ts";
import { decodePageToken, foldReadInput } from "../core/read-input.ts";
import type {
	ContextItem,
	CustomMessageItem,
	Ledger,
	SessionSource,
	SessionView,
	ShownFile,
	ToolResultItem,
} from "../session/index.ts";
import {
	addressedPath,
	canonicalPath,
	isEditingTool,
	parseShorthand,
} from "../session/read-path.ts";
import type { FileEvent } from "./knowledge.ts";
import {
	isDerived,
	isMarker,
	type Metadata,
	parseInvalidation,
	parseMetadata,
	parseOwnEdit,
	parseUntracked,
	shownRange,
} from "./metadata.ts";
import { candidatesOf } from "./text-file.ts";

/** Text of a file that the model sees. */
export interface FileView {
	readonly meta: Metadata;
	readonly text: string | undefined;
}

export type ShownFiles = Partial<SessionView["shown"]>;

type Recorded =
	| Exclude<FileEvent, { kind: "view" | "in-request" }>
	| { kind: "view"; meta: Metadata; item: ToolResultItem }
	| { kind: "view"; meta: Metadata; item: CustomMessageItem; text: string };

/** Reads, edits and refreshes of each file on the active branch, in order. Derived from the ledger. */
export class FileEventLog {
	readonly #ledger: Ledger;
	readonly #cwd: string;
	readonly #shown: Required<ShownFiles>;
	#epoch = -1;
	#done = 0;
	#byPath = new Map<string, Recorded[]>();
	#filesInRequest: readonly ShownFile[] = [];
	readonly #versionsInRequest = new Map<string, Hash | undefined>();

	constructor(ledger: Ledger, cwd: string, shown: ShownFiles = {}) {
		this.#ledger = ledger;
		this.#cwd = cwd;
		this.#shown = { shownBy: () => [], shownInRequest: () => NO_FILES, ...shown };
	}

	eventsOf(source: SessionSource, pathKey: string): FileEvent[] {
		const events = this.#recorded(source, pathKey).map((event): FileEvent => {
			if (event.kind !== "view") return event;
			return { kind: "view", meta: event.meta, seen: this.#ledger.visibility(event.item) };
		});
		return [...events, ...this.#requestEvents(pathKey)];
	}

	paths(source: SessionSource): string[] {
		return [...this.#advance(source).keys()];
	}

	hasViews(source: SessionSource, pathKey: string): boolean {
		return this.#recorded(source, pathKey).some(({ kind }) => kind === "view");
	}

	visibleViews(source: SessionSource, pathKey: string): FileView[] {
		return this.#recorded(source, pathKey).flatMap((event) => {
			if (event.kind !== "view" || !this.#ledger.visibility(event.item).visible) return [];
			const text = "text" in event ? event.text : this.#ledger.fullText(event.item);
			return [{ meta: event.meta, text }];
		});
	}

	#recorded(source: SessionSource, pathKey: string): Recorded[] {
		return this.#advance(source).get(pathKey) ?? [];
	}

	#advance(source: SessionSource): Map<string, Recorded[]> {
		const log = this.#ledger.log(source);
		if (log.epoch !== this.#epoch) {
			this.#epoch = log.epoch;
			this.#done = 0;
			this.#byPath = new Map();
		}
		for (; this.#done < log.items.length; this.#done++) {
			this.#record(log.items[this.#done] as ContextItem);
		}
		return this.#byPath;
	}

	#record(item: ContextItem): void {
		if (item.kind === "custom") {
			const refresh = parseInvalidation(item);
			if (refresh) this.#add(refresh.pathKey, { kind: "refresh", scope: refresh.scope });
		} else if (item.kind === "customMessage") this.#recordMessage(item);
		else if (item.toolName === "read") this.#recordRead(item);
		else if (isEditingTool(item.toolName)) this.#recordEdit(item);
	}

	#recordMessage(item: CustomMessageItem): void {
		const files = this.#shown.shownBy(item);
		if (!files) this.#byPath.clear(); // the message may have shown any file
		for (const { pathKey, text } of located(files ?? [], this.#cwd)) {
			if (text === undefined) this.#add(pathKey, UNTRACKED);
			else this.#add(pathKey, { kind: "view", meta: wholeFile(pathKey, text), item, text });
		}
	}

	/** These are newer than all recorded events: the model sees the request when it calls `read`. */
	#requestEvents(pathKey: string): FileEvent[] {
		const files = this.#shown.shownInRequest();
		if (files !== this.#filesInRequest) {
			this.#filesInRequest = files;
			this.#versionsInRequest.clear();
			for (const { pathKey, text } of located(files, this.#cwd))
				this.#versionsInRequest.set(pathKey, text === undefined ? undefined : hashBytes(text));
		}
		if (!this.#versionsInRequest.has(pathKey)) return [];
		return [{ kind: "in-request", version: this.#versionsInRequest.get(pathKey) }];
	}

	#recordRead(item: ToolResultItem): void {
		const meta = parseMetadata(item.details);
		if (meta) {
			const isView = !isDerived(meta.mode) || meta.mode === "diff";
			if (isView && !item.isError) this.#add(meta.pathKey, { kind: "view", meta, item });
			// A marker shows nothing, but another extension may have replaced it with text.
			else if (item.isError || !isMarker(item.returned)) this.#add(meta.pathKey, UNTRACKED);
			return;
		}
		const noted = parseUntracked(item.details);
		if (noted !== undefined) this.#add(noted, UNTRACKED);
		const path = pathOfRead(item.input);
		// If the file is unknown, any file may have been read.
		if (path === undefined) this.#byPath.clear();
		else for (const pathKey of filesRead(path, this.#cwd)) this.#add(pathKey, UNTRACKED);
	}

	#recordEdit(item: ToolResultItem): void {
		if (item.isError) return;
		const note = parseOwnEdit(item.details);
		for (const pathKey of note ? [note.pathKey] : this.#filesEdited(item)) {
			this.#add(pathKey, { kind: "edit", before: note?.baseHash, after: note?.servedHash });
		}
	}

	/** If the file is unknown, any file may have been edited. */
	#filesEdited({ input }: ToolResultItem): string[] {
		const path = property(input, "path");
		return typeof path === "string" ? filesNamed(path, this.#cwd) : [...this.#byPath.keys()];
	}

	#add(pathKey: string, event: Recorded): void {
		const events = this.#byPath.get(pathKey);
		if (!events || startsOver(event)) this.#byPath.set(pathKey, [event]);
		else events.push(event);
	}
}

const NO_FILES: readonly ShownFile[] = [];
const UNTRACKED = { kind: "untracked" } as const;

/** Files by real path. Drops the text of a file behind a link, since the link may have moved. */
function located(files: readonly ShownFile[], cwd: string) {
	const home = files.length > 0 ? canonicalPath(cwd) : cwd;
	return files.map(({ path, text }) => {
		const place = join(home, path);
		const pathKey = canonicalPath(place);
		return { pathKey, text: pathKey === place ? text : undefined };
	});
}

/** All files that the path of a read can mean, including as shorthand or as an address. */
function filesRead(path: string, cwd: string): string[] {
	const shorthand = parseShorthand(path);
	const addressed = addressedPath(path, cwd);
	return [
		...filesNamed(path, cwd),
		...(shorthand ? filesNamed(shorthand.path, cwd) : []),
		...(addressed === undefined ? [] : [canonicalPath(addressed)]),
	];
}

function filesNamed(path: string, cwd: string): string[] {
	const candidates = candidatesOf(path, cwd);
	// Includes both paths, since a link now may have been the file itself then.
	return [...new Set([...candidates, ...candidates.map(canonicalPath)])];
}

/**
 * The hash that proves the text of a read. `undefined` if no proof is needed; a value that no text hashes
 * to if no proof is possible.
 */
export function returnedHash(item: ToolResultItem): string | undefined {
	const meta = item.toolName === "read" ? parseMetadata(item.details) : undefined;
	if (!meta || meta.mode === "unchanged" || meta.mode === "unchanged_range") return undefined;
	if (meta.textHash) return meta.textHash;
	const truncated = property(property(item.details, "truncation"), "truncated") === true;
	const isWholeFile = meta.scopeKey === "full" && meta.mode !== "diff" && !truncated;
	return isWholeFile ? meta.servedHash : "unprovable";
}

function pathOfRead(input: unknown): string | undefined {
	const path = property(foldReadInput(input), "path");
	if (typeof path !== "string") return undefined;
	return decodePageToken(path)?.uri ?? path;
}

function wholeFile(pathKey: string, text: string): Metadata {
	const totalLines = text.split("\n").length;
	return {
		v: 1,
		pathKey,
		scopeKey: "full",
		servedHash: hashBytes(text),
		mode: "full",
		totalLines,
		rangeStart: 1,
		rangeEnd: totalLines,
		bytes: Buffer.byteLength(text),
	};
}

/** Whether earlier events no longer matter after this event. */
function startsOver(event: Recorded): boolean {
	if (event.kind === "untracked") return true;
	if (event.kind === "refresh") return event.scope === "full";
	if (event.kind !== "view" || event.meta.mode === "diff") return false;
	const { start, end } = shownRange(event.meta);
	return start === 1 && end === event.meta.totalLines;
}
