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

export type History = ReturnType<typeof createHistory>;

/** Text of a file that the model sees. */
export interface View {
	meta: Metadata;
	text: string | undefined;
}

export type ShownElsewhere = Partial<SessionView["shown"]>;

type Recorded =
	| Exclude<FileEvent, { kind: "view" | "beside" }>
	| { kind: "view"; meta: Metadata; item: ToolResultItem }
	| { kind: "view"; meta: Metadata; item: CustomMessageItem; text: string };

/** File events of the active context, in order. Follows the ledger's log incrementally. */
export function createHistory(
	ledger: Ledger,
	cwd: string,
	{ shownBy = () => [], shownBeside = () => [] }: ShownElsewhere = {},
) {
	let epoch = -1;
	let done = 0;
	let byPath = new Map<string, Recorded[]>();
	let filesBeside: readonly ShownFile[] = [];
	let versionsBeside = new Map<string, Hash | undefined>();

	return {
		eventsOf: (source: SessionSource, pathKey: string): FileEvent[] => [
			...recorded(source, pathKey).map(toEvent),
			...besideEvents(pathKey),
		],
		paths: (source: SessionSource) => [...advance(source).keys()],
		hasViews: (source: SessionSource, pathKey: string) =>
			recorded(source, pathKey).some(({ kind }) => kind === "view"),
		visibleViews: (source: SessionSource, pathKey: string): View[] =>
			recorded(source, pathKey).flatMap((event) => {
				if (event.kind !== "view" || !ledger.visibility(event.item).visible) return [];
				return [{ meta: event.meta, text: "text" in event ? event.text : event.item.text }];
			}),
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
		} else if (item.kind === "customMessage") recordMessage(item);
		else if (item.toolName === "read") recordRead(item);
		else if (isEditingTool(item.toolName)) recordEdit(item);
	}

	function recordMessage(item: CustomMessageItem): void {
		const files = shownBy(item);
		if (!files) byPath.clear(); // it may have shown any file
		for (const { pathKey, text } of located(files ?? [])) {
			if (text === undefined) add(pathKey, { kind: "untracked" });
			else add(pathKey, { kind: "view", meta: wholeFile(pathKey, text), item, text });
		}
	}

	/** Newer than all recorded events: the model sees it while it calls `read`. */
	function besideEvents(pathKey: string): FileEvent[] {
		const files = shownBeside();
		if (files !== filesBeside) {
			filesBeside = files;
			versionsBeside = new Map();
			for (const { pathKey, text } of located(files))
				versionsBeside.set(pathKey, text === undefined ? undefined : hashBytes(text));
		}
		if (!versionsBeside.has(pathKey)) return [];
		return [{ kind: "beside", version: versionsBeside.get(pathKey) }];
	}

	/** By real path. Links move: a path through one cannot be traced to its file. */
	function located(files: readonly ShownFile[]): { pathKey: string; text: string | undefined }[] {
		const home = files.length > 0 ? canonicalPath(cwd) : cwd;
		return files.map(({ path, text }) => {
			const place = join(home, path);
			const pathKey = canonicalPath(place);
			return { pathKey, text: pathKey === place ? text : undefined };
		});
	}

	function recordRead(item: ToolResultItem): void {
		const meta = parseMetadata(item.details);
		if (meta) {
			const isView = !isDerived(meta.mode) || meta.mode === "diff";
			if (isView && !item.isError) add(meta.pathKey, { kind: "view", meta, item });
			// A marker shows nothing, but another extension may have replaced it with text.
			else if (item.isError || !isMarker(item.returned)) add(meta.pathKey, { kind: "untracked" });
			return;
		}
		const noted = parseUntracked(item.details);
		if (noted !== undefined) add(noted, { kind: "untracked" });
		const path = pathOfRead(item.input);
		if (path === undefined) {
			byPath.clear(); // a read of an unknown file may be of any
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

	/** An edit of an unknown file may be of any. */
	function filesEdited({ input }: ToolResultItem): string[] {
		const path = property(input, "path");
		return typeof path === "string" ? filesNamed(path) : [...byPath.keys()];
	}

	function filesNamed(path: string): string[] {
		const candidates = candidatesOf(path, cwd);
		// Both: a link may have been the file itself then.
		return [...new Set([...candidates, ...candidates.map(canonicalPath)])];
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
 * The hash that proves a read's text. `undefined` where no proof is needed; where none is possible,
 * a hash that no text has.
 */
export function returnedHash(item: ToolResultItem): string | undefined {
	const meta = item.toolName === "read" ? parseMetadata(item.details) : undefined;
	if (!meta || meta.mode === "unchanged" || meta.mode === "unchanged_range") return undefined;
	if (meta.textHash) return meta.textHash;
	const truncated = property(property(item.details, "truncation"), "truncated") === true;
	const isWholeFile = meta.scopeKey === "full" && meta.mode !== "diff" && !truncated;
	return isWholeFile ? meta.servedHash : UNPROVABLE;
}

function pathOfRead(input: unknown): string | undefined {
	const path = property(foldReadInput(input), "path");
	if (typeof path !== "string") return undefined;
	return decodePageToken(path)?.uri ?? path;
}

const UNPROVABLE = "unprovable";

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

/** Events before such an event no longer matter. */
function startsOver(event: Recorded): boolean {
	switch (event.kind) {
		case "untracked":
			return true;
		case "refresh":
			return event.scope === "full";
		case "view": {
			const { start, end } = shownRange(event.meta);
			return event.meta.mode !== "diff" && start === 1 && end === event.meta.totalLines;
		}
		default:
			return false;
	}
}
