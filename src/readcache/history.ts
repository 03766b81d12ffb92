import type { ContextItem, Ledger, SessionSource, ToolResultItem } from "../context/index.ts";
import { property } from "../core/property.ts";
import { decodePageToken, foldReadInput } from "../core/read-input.ts";
import { parseInvalidation } from "./invalidation.ts";
import type { FileEvent } from "./knowledge.ts";
import { isMarker } from "./markers.ts";
import { isDerived, type Metadata, parseMetadata, parseUntracked } from "./metadata.ts";
import { isEditingTool, parseOwnEdit } from "./own-edit.ts";
import { addressedPath, canonicalPath, parseShorthand, pathCandidates } from "./read-path.ts";

/** What happened to each file in the active context, in order. */
export interface History {
	/** The events of one file, and whether the model can still see its views. */
	eventsOf(source: SessionSource, pathKey: string): FileEvent[];
	/** Every file with events, for reports. */
	paths(source: SessionSource): string[];
	/** The views of one file with the results that hold their text. */
	viewsOf(source: SessionSource, pathKey: string): { meta: Metadata; item: ToolResultItem }[];
}

type Recorded =
	| Exclude<FileEvent, { kind: "view" }>
	| { kind: "view"; meta: Metadata; item: ToolResultItem };

/** Follows the ledger's log; what was gone through once is not gone through again. */
export function createHistory(ledger: Ledger, cwd: string): History {
	let epoch = -1;
	let done = 0;
	let byPath = new Map<string, Recorded[]>();

	return {
		eventsOf: (source, pathKey) => recorded(source, pathKey).map(toEvent),
		paths: (source) => [...advance(source).keys()],
		viewsOf: (source, pathKey) =>
			recorded(source, pathKey).filter((event) => event.kind === "view"),
	};

	function recorded(source: SessionSource, pathKey: string): Recorded[] {
		return advance(source).get(pathKey) ?? [];
	}

	function advance(source: SessionSource): Map<string, Recorded[]> {
		const log = ledger.log(source);
		if (log.epoch !== epoch) {
			epoch = log.epoch;
			done = 0;
			byPath = new Map();
		}
		for (; done < log.items.length; done++) record(log.items[done] as ContextItem);
		return byPath;
	}

	function record(item: ContextItem): void {
		if (item.kind === "custom") {
			const refresh = parseInvalidation(item);
			if (refresh) add(refresh.pathKey, { kind: "refresh", scope: refresh.scope });
		} else if (item.toolName === "read") recordRead(item);
		else if (isEditingTool(item.toolName)) recordEdit(item);
	}

	function recordRead(item: ToolResultItem): void {
		const meta = parseMetadata(item.details);
		if (meta && !item.isError) {
			if (!isDerived(meta.mode) || meta.mode === "diff")
				add(meta.pathKey, { kind: "view", meta, item });
			// A marker shows nothing, but another extension may have put some text in its place.
			else if (!isMarker(item.returned)) add(meta.pathKey, { kind: "untracked" });
			return;
		}
		if (meta) {
			add(meta.pathKey, { kind: "untracked" });
			return;
		}
		const noted = parseUntracked(item.details);
		if (noted !== undefined) add(noted, { kind: "untracked" });
		const path = pathOfRead(item.input);
		if (path === undefined) {
			byPath.clear(); // a read of we know not what: nothing is sure any more
			return;
		}
		const shorthand = parseShorthand(path);
		for (const written of shorthand ? [path, shorthand.path] : [path]) {
			for (const pathKey of filesNamed(written)) add(pathKey, { kind: "untracked" });
		}
		const addressed = addressedPath(path, cwd);
		if (addressed !== undefined) add(canonicalPath(addressed), { kind: "untracked" });
	}

	function recordEdit(item: ToolResultItem): void {
		if (item.isError) return;
		const note = parseOwnEdit(item.details);
		for (const pathKey of note ? [note.pathKey] : filesEdited(item)) {
			add(pathKey, { kind: "edit", before: note?.baseHash, after: note?.servedHash });
		}
	}

	/** An edit of we know not what may be of any file. */
	function filesEdited({ input }: ToolResultItem): string[] {
		const path = property(input, "path");
		return typeof path === "string" ? filesNamed(path) : [...byPath.keys()];
	}

	/** Every file that pi may have found under a path. */
	function filesNamed(path: string): string[] {
		try {
			const candidates = pathCandidates(path, cwd);
			// Both: what is a link now may have been the file itself then.
			return [...new Set([...candidates, ...candidates.map(canonicalPath)])];
		} catch {
			return []; // a URL that names no file: pi's answer was an error, and no file's text
		}
	}

	function add(pathKey: string, event: Recorded): void {
		const events = byPath.get(pathKey);
		if (!events || startsOver(event)) byPath.set(pathKey, [event]);
		else events.push(event);
	}

	function toEvent(event: Recorded): FileEvent {
		if (event.kind !== "view") return event;
		return { kind: "view", meta: event.meta, seen: ledger.visibility(event.item) };
	}
}

/**
 * The hash that a read's text must have to be what we returned. Results that stand for nothing need no proof; those
 * whose text cannot be proven get a hash that no text has.
 */
export function returnedHash(item: ToolResultItem): string | undefined {
	const meta = item.toolName === "read" ? parseMetadata(item.details) : undefined;
	if (!meta || meta.mode === "unchanged" || meta.mode === "unchanged_range") return undefined;
	if (meta.textHash) return meta.textHash;
	const truncated = property(property(item.details, "truncation"), "truncated") === true;
	const isWholeFile = meta.scopeKey === "full" && meta.mode !== "diff" && !truncated;
	return isWholeFile ? meta.servedHash : UNPROVABLE;
}

/** The path that a call of `read` named, in whichever form. */
function pathOfRead(input: unknown): string | undefined {
	const path = property(foldReadInput(input), "path");
	if (typeof path !== "string") return undefined;
	return decodePageToken(path)?.uri ?? path;
}

const UNPROVABLE = "unprovable";

/** After such an event nothing before it matters, whether the model can see it or not. */
function startsOver(event: Recorded): boolean {
	switch (event.kind) {
		case "untracked":
			return true;
		case "refresh":
			return event.scope === "full";
		case "view": {
			const { meta } = event;
			const [start, end] = meta.shown ?? [meta.rangeStart, meta.rangeEnd];
			return meta.mode !== "diff" && start === 1 && end === meta.totalLines;
		}
		default:
			return false;
	}
}
