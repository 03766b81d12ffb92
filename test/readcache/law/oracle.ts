/**
 * Judges answers of the read cache by nothing but the texts in the request and what is on the disk. It knows no
 * metadata and shares no code with what it judges.
 */
import { isUtf8 } from "node:buffer";
import { expandedIn } from "./references.ts";
import { applyDiff } from "./unified.ts";
import { createView, type View } from "./view.ts";

/** A place in the request: an entry of the session and the message that stood for it, if one did. */
export interface Slot {
	readonly entryId: string;
	readonly message?: { role: string; content?: unknown; isError?: boolean } | undefined;
}

/**
 * What really happened in an entry of the session; kept by the driver, at the time it happened. `at` counts up from
 * one to the next: calls of one message may be done in another order than their results are stored in.
 */
export type Deed =
	/** A read was answered with this text, which shows lines of a file of `total` lines. */
	| {
			kind: "literal";
			file: string;
			at: number;
			text: string;
			start: number;
			lines: string[];
			total: number;
	  }
	| { kind: "diff"; file: string; at: number; text: string; body: string }
	| { kind: "marker"; file: string }
	/** A read showed an error, bytes, or an image. */
	| { kind: "opaque"; file: string; isLinked?: boolean }
	/** Pi said that a line is too long to be shown. */
	| { kind: "nothing" }
	/** The model changed the file, with arguments that stand in `callEntryId`. */
	| {
			kind: "edit";
			file: string;
			isLinked: boolean;
			at: number;
			callEntryId: string;
			/** The file right before it. */
			before: string;
			/** `unknown`: nobody can say any more that it was made to this file. */
			change: { oldText: string; newText: string }[] | { content: string } | "unknown";
	  }
	| { kind: "refresh"; file: string; range?: { start: number; end: number } | undefined };

/** A read and its answer. */
export interface Asked {
	/** Real path of the file, whether a link led to it, and its bytes at the time. */
	file: string;
	isLinked: boolean;
	bytes: Buffer | undefined;
	/** When it was read, see {@link Deed}. */
	at: number;
	offset: number | undefined;
	limit: number | undefined;
	/** What pi's own read says to it. */
	expected: Outcome;
	got: Outcome;
}

export type Outcome = { content: { type: string; text?: string }[] } | { error: string };

/** How a read was answered; the names under which answers are counted. */
export type AnswerKind =
	| "plain"
	| "error"
	| "opaque"
	| "unchanged"
	| "unchanged range"
	| "unchanged range, changed elsewhere"
	| "unchanged range, cut"
	| "diff";

export interface Verdict {
	kind: AnswerKind;
	deed: Deed;
}

const MOST_DIFFS_IN_A_ROW = 3;

/** Judges one answer; throws an error that says how it breaks the law. */
export function judge(asked: Asked, request: readonly Slot[], deeds: Map<string, Deed>): Verdict {
	const { file, isLinked, bytes, at, expected, got } = asked;
	if ("error" in got || "error" in expected) {
		const [wanted, had] = [messageOf(expected), messageOf(got)];
		if (wanted !== had) throw new Error(`pi says ${wanted}, the cache says ${had}`);
		// It shows no text. Through a link it does not even say which file it is about.
		return { kind: "error", deed: isLinked ? { kind: "nothing" } : { kind: "opaque", file } };
	}
	const text = textOf(got.content);
	const plain = textOf(expected.content);
	if (text === undefined || text === plain) {
		if (JSON.stringify(got.content) !== JSON.stringify(expected.content)) {
			throw new Error("the answer is neither pi's nor a text");
		}
		const isText = bytes && isUtf8(bytes) && !bytes.includes(0);
		if (text === undefined || !isText || !isLine(asked.offset) || !isLine(asked.limit)) {
			return { kind: "opaque", deed: { kind: "opaque", file, isLinked } };
		}
		return { kind: "plain", deed: literal(asked, text) };
	}
	if (!bytes) throw new Error("a marker or diff for a file that is not there");
	const current = bytes.toString("utf8");
	const view = viewOf(file, request, deeds);
	const body = /^\[readcache: \d+ lines changed of \d+\]\n(--- .*)$/s.exec(text)?.[1];
	if (body !== undefined) {
		checkDiff(text, body, current, view);
		return { kind: "diff", deed: { kind: "diff", file, at, text, body } };
	}
	const kind = checkMarker(text, plain ?? "", asked, current.split("\n"), view);
	return { kind, deed: { kind: "marker", file } };
}

/** Whether an answer that was right when it was given still has in the request what it stands on. */
export function stands(asked: Asked, request: readonly Slot[], deeds: Map<string, Deed>): boolean {
	try {
		judge(asked, request, deeds);
		return true;
	} catch {
		return false;
	}
}

/** What the request shows of a file, by reading it from start to end. */
function viewOf(file: string, request: readonly Slot[], deeds: Map<string, Deed>): View {
	const view = createView();
	const present = new Set(request.filter(({ message }) => message).map(({ entryId }) => entryId));
	const believes = !request.some(({ entryId, message }) => {
		const deed = deeds.get(entryId);
		const isEdit = deed?.kind === "edit" && deed.file === file && present.has(deed.callEntryId);
		// Without its result a model cannot know whether its call was done.
		return isEdit && (!message || deed.change === "unknown");
	});
	let shownAt = 0;
	for (const [place, slot] of request.entries()) {
		const { message } = slot;
		const deed = deeds.get(slot.entryId);
		if (!deed || deed.kind === "nothing" || deed.kind === "marker" || deed.file !== file) continue;
		switch (deed.kind) {
			case "opaque":
				view.forget();
				break;
			case "refresh":
				if (deed.range) view.forgetLines(deed.range.start, deed.range.end);
				else view.forget();
				break;
			case "edit":
				// A model that is told of a failure, or no longer sees its call, believes nothing new.
				if (!believes || message?.isError || !present.has(deed.callEntryId)) break;
				if (deed.at < shownAt) break; // it is in the text before it already
				applyEdit(view, deed);
				break;
			default:
				shownAt = Math.max(shownAt, deed.at);
				if (!isIntact(request, place, deed)) view.forget();
				else if (deed.kind === "literal") view.showLiteral(deed.start, deed.lines, deed.total);
				else view.showDiff(deed.body);
		}
	}
	return view;
}

function applyEdit(view: View, { change, before }: Deed & { kind: "edit" }): void {
	if (change === "unknown") return;
	if ("content" in change) {
		view.write(change.content);
		return;
	}
	// Somebody had done more to it than undo edits: where the model then takes its own to be, nobody can say.
	if (!view.isFamiliar(before)) view.doubtEdits();
	for (const { oldText, newText } of change) view.edit(oldText, newText);
}

/** Whether the request shows the text, itself or by references to results above it. */
function isIntact(
	request: readonly Slot[],
	place: number,
	deed: Deed & { kind: "literal" | "diff" },
): boolean {
	const { message } = request[place] ?? {};
	if (message === undefined || message.isError) return false;
	const text = textOf(message.content);
	if (text === undefined || text === deed.text) return text === deed.text;
	return expandedIn(text, request.slice(0, place)) === deed.text;
}

/**
 * To be called when a link has changed. What was done through links and left no text of a file is no longer anybody's:
 * neither the session nor the model can tell which file it was about.
 */
export function forgetLinked(deeds: Map<string, Deed>): void {
	for (const [entryId, deed] of deeds) {
		if (deed.kind === "opaque" && deed.isLinked) deeds.delete(entryId);
		if (deed.kind === "edit" && deed.isLinked) deeds.set(entryId, { ...deed, change: "unknown" });
	}
}

/** What a request holds about a file, for people who look into a violation. */
export function describe(
	file: string,
	request: readonly Slot[],
	deeds: Map<string, Deed>,
): string[] {
	return request.flatMap((slot, place) => {
		const deed = deeds.get(slot.entryId);
		if (!deed || deed.kind === "nothing" || deed.file !== file) return [];
		const name = `${slot.entryId} ${deed.kind}`;
		if (deed.kind === "refresh") return [`${name} ${JSON.stringify(deed.range ?? "all")}`];
		if (deed.kind === "edit") return [`${name} ${JSON.stringify(deed.change).slice(0, 300)}`];
		if (deed.kind !== "literal" && deed.kind !== "diff") return [name];
		const state = isIntact(request, place, deed) ? "intact" : slot.message ? "altered" : "missing";
		if (deed.kind === "diff") return [`${name}, ${state}`];
		const end = deed.start + deed.lines.length - 1;
		return [`${name} of lines ${deed.start}-${end} of ${deed.total}, ${state}`];
	});
}

function checkDiff(text: string, body: string, current: string, view: View): void {
	const total = current.split("\n").length;
	if (!text.startsWith("[readcache: ") || !text.includes(` of ${total}]\n`)) {
		throw new Error(`the diff's header does not say that the file has ${total} lines`);
	}
	const base = view.whole();
	if (base === undefined) throw new Error("a diff, but its base is not wholly in the request");
	const applied = applyDiff(base, body);
	if (applied.text !== current) throw new Error("the diff does not lead to the file as it is");
	if (view.chain() >= MOST_DIFFS_IN_A_ROW) throw new Error("too many diffs in a row");
	if (!view.leadsBeliefTo(applied)) {
		throw new Error("after the diff the model still believes in an edit of its own that is undone");
	}
}

function checkMarker(
	text: string,
	plain: string,
	asked: Asked,
	current: string[],
	view: View,
): AnswerKind {
	const total = current.length;
	const first = asked.offset ?? 1;
	const last = asked.limit === undefined ? total : Math.min(total, first + asked.limit - 1);
	if (text === `[readcache: unchanged, ${total} lines]`) {
		if (first !== 1 || last !== total) throw new Error("a full marker for a range");
		checkLines({ first, last }, current, view);
		if (!view.endsAt(total)) {
			throw new Error(`the request shows a file of another length than ${total}`);
		}
		return "unchanged";
	}
	const match =
		/^\[readcache: unchanged in lines (\d+)-(\d+)(?: of (\d+)|(; changes exist outside this range))\](?:\n\n(.*))?$/.exec(
			text,
		);
	if (!match) throw new Error(`neither pi's text nor a marker nor a diff: ${text.slice(0, 200)}`);
	const [, start, end, of, elsewhere, note] = match;
	if (of !== undefined && Number(of) !== total) throw new Error(`the file has ${total} lines`);
	if (Number(start) !== first) throw new Error(`line ${first} was asked for, not ${start}`);
	if (note !== undefined) {
		if (!plain.endsWith(`\n\n${note}`)) throw new Error("pi does not say so where to go on");
		const shown = /^\[Showing lines (\d+)-(\d+) /.exec(note);
		if (shown?.[1] !== start || shown?.[2] !== end)
			throw new Error("the marker and pi's line differ");
	} else if (Number(end) !== last) {
		throw new Error(`lines up to ${last} were asked for, not up to ${end}`);
	}
	checkLines({ first, last: Number(end) }, current, view);
	if (note !== undefined) return "unchanged range, cut";
	return elsewhere ? "unchanged range, changed elsewhere" : "unchanged range";
}

function checkLines(
	{ first, last }: { first: number; last: number },
	current: string[],
	view: View,
): void {
	for (let line = first; line <= last; line++) {
		const seen = view.lines[line - 1];
		const now = current[line - 1];
		if (seen === undefined) throw new Error(`a marker, but line ${line} is not in the request`);
		if (seen !== now) {
			throw new Error(
				`a marker, but line ${line} in the request is ${quote(seen)} and in the file ${quote(now)}`,
			);
		}
		const believed = view.believed()[line - 1];
		if (believed !== undefined && believed !== now) {
			throw new Error(
				`a marker, but the model has made line ${line} ${quote(believed)} and the file has ${quote(now)}`,
			);
		}
	}
}

/** Which lines pi's text shows, found by laying it against the file. */
function literal({ file, bytes, at, offset = 1 }: Asked, text: string): Deed {
	const all = (bytes as Buffer).toString("utf8").split("\n");
	const total = all.length;
	const rest = all.slice(offset - 1);
	if (text === rest.join("\n"))
		return { kind: "literal", file, at, text, start: offset, lines: rest, total };
	const shown = /^(.*)\n\n\[(?:Showing lines|\d+ more lines in file)[^\n]*\]$/s.exec(text)?.[1];
	if (shown === undefined) {
		if (/^\[Line \d+ is .* limit\. Use bash/.test(text)) return { kind: "nothing" };
		throw new Error(`pi's text is of an unknown form: ${text.slice(-200)}`);
	}
	const lines = shown.split("\n");
	if (lines.some((line, index) => line !== rest[index])) {
		throw new Error("pi's text is not that of the file");
	}
	return { kind: "literal", file, at, text, start: offset, lines, total };
}

/** Whether an offset or limit is one that pi's texts can be laid against the file with. */
function isLine(value: number | undefined): boolean {
	return value === undefined || (Number.isInteger(value) && value >= 1);
}

function messageOf(outcome: Outcome): string {
	return "error" in outcome ? `error ${outcome.error}` : "no error";
}

/** Text blocks reach every provider joined by newlines; anything else beside them is not text. */
export function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (!Array.isArray(content) || content.length === 0) return undefined;
	const blocks = content as { type: string; text?: string }[];
	return blocks.every(({ type }) => type === "text")
		? blocks.map(({ text }) => text).join("\n")
		: undefined;
}

function quote(text: string | undefined): string {
	return text === undefined ? "missing" : JSON.stringify(text.slice(0, 60));
}
