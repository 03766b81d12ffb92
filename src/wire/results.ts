import { isRecord, property } from "../core/property.ts";
import type { FormatName } from "./format.ts";
import { endOfValue, JsonSpan, skipSpace } from "./json-span.ts";
import type { ByteRange } from "./piece.ts";
import { parsedArguments } from "./piece-list.ts";
import { formatOf } from "./request.ts";

/** The result of a call as a request carries it. Unlike a piece, it holds its text. */
export interface WireResult {
	/** Unique in the request if the request names it. */
	readonly id: string | undefined;
	readonly tool: string;
	readonly input: unknown;
	/** `undefined` if the result is not one text. */
	readonly text: string | undefined;
	readonly isError: boolean;
	/** Where the text stands in the body: a JSON string with its quotes. Empty without a text. */
	readonly place: ByteRange;
	/** Bytes of the block or message that a provider counts, without its marker. */
	readonly size: number;
}

/** One message or item of a conversation, in the order of the request. */
interface WireMessage extends ByteRange {
	readonly isByModel: boolean;
	readonly calls: readonly WireCall[];
	readonly results: readonly WireResult[];
}

interface WireCall {
	readonly id: string | undefined;
	readonly tool: string;
	readonly input: unknown;
}

/** The results of a request, with the body in which they stand. */
export interface ReadResults {
	readonly format: FormatName;
	readonly body: Buffer;
	/** Where the list of messages begins. */
	readonly start: number;
	readonly messages: readonly WireMessage[];
	readonly results: readonly WireResult[];
	/** The number of results that the model has answered. */
	readonly answered: number;
	/** Whether the provider may leave out or replace earlier results of this request. */
	readonly isEdited: boolean;
}

/** `stateful`: the provider holds a part of the prompt. `unreadable`: the shape is not the format's. */
type NoResults = "other" | "stateful" | "unreadable";

/**
 * Reads the results of a POST to `path`, which asks a model or counts tokens. Of `before`, an earlier
 * request, the messages are taken over whose bytes are the same.
 */
export function readResults(
	path: string,
	body: Buffer,
	before?: ReadResults,
): ReadResults | NoResults {
	const format = formatNamed(path);
	if (!format) return "other";
	try {
		const reader = READERS[format];
		const usable = before?.format === format ? before : undefined;
		const { list, fields } = walk(body, reader, usable);
		if (STATEFUL.some((name) => isSet(fields.get(name)))) return "stateful";
		if (!list) return "unreadable";
		const { start, messages } = list;
		const last = messages.findLastIndex(({ isByModel }) => isByModel);
		const answered = messages.slice(0, last + 1).reduce((sum, one) => sum + one.results.length, 0);
		const results = messages.flatMap((message) => message.results);
		return {
			...{ format, body, start, messages, results, answered },
			isEdited: isEdited(fields),
		};
	} catch {
		return "unreadable";
	}
}

/** Counting tokens has paths of its own. A compaction returns parts of what it was sent, so it stays. */
function formatNamed(path: string): FormatName | undefined {
	if (path.endsWith("/responses/compact")) return undefined;
	const asked = path
		.replace(/\/messages\/count_tokens$/, "/messages")
		.replace(/\/responses\/input_tokens$/, "/responses")
		.replace(/:countTokens$/, ":generateContent");
	return formatOf(asked)?.name;
}

const STATEFUL = [
	"previous_response_id",
	"conversation",
	"thread",
	"thread_id",
	"cachedContent",
	"cached_content",
];

function isSet(span: JsonSpan | undefined): boolean {
	return span !== undefined && span.text !== "null";
}

/** Anthropic's clearing of thinking leaves results as they are. Any other editing may not. */
function isEdited(fields: ReadonlyMap<string, JsonSpan>): boolean {
	const truncation = fields.get("truncation");
	if (truncation && isSet(truncation) && truncation.value !== "disabled") return true;
	const management = fields.get("context_management");
	if (!management || !isSet(management)) return false;
	const edits = property(management.value, "edits");
	const isHarmless = (edit: unknown) =>
		String(property(edit, "type")).startsWith("clear_thinking_");
	return !Array.isArray(edits) || !edits.every(isHarmless);
}

interface MessageList {
	readonly start: number;
	readonly end: number;
	readonly messages: readonly WireMessage[];
}

/** The members of a request: its messages, and all others as they stand. */
function walk(body: Buffer, reader: MessageReader, before: ReadResults | undefined) {
	const fields = new Map<string, JsonSpan>();
	let list: MessageList | undefined;
	let at = skipSpace(body, 0);
	if (body[at] !== OPEN_OBJECT) throw malformed();
	at = skipSpace(body, at + 1);
	while (body[at] !== CLOSE_OBJECT) {
		const name = new JsonSpan(body, at, endOfValue(body, at));
		const colon = skipSpace(body, name.end);
		if (!name.isString || body[colon] !== COLON) throw malformed();
		const start = skipSpace(body, colon + 1);
		const key = String(name.value);
		if (fields.has(key)) throw malformed();
		if (key === reader.key) {
			if (list) throw malformed();
			list = readList(body, start, reader, before);
			at = list.end;
		} else {
			at = endOfValue(body, start);
			fields.set(key, new JsonSpan(body, start, at));
		}
		at = next(body, at, CLOSE_OBJECT);
	}
	if (skipSpace(body, at + 1) !== body.length) throw malformed();
	return { list, fields };
}

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Where the next item begins, or where the closing bracket stands. */
function next(body: Buffer, from: number, close: number): number {
	const at = skipSpace(body, from);
	if (body[at] === close) return at;
	if (body[at] !== COMMA) throw malformed();
	const item = skipSpace(body, at + 1);
	if (body[item] === close) throw malformed();
	return item;
}

function malformed(): SyntaxError {
	return new SyntaxError("not a request in JSON");
}

function readList(
	body: Buffer,
	start: number,
	reader: MessageReader,
	before: ReadResults | undefined,
): MessageList {
	if (body[start] !== OPEN_ARRAY) throw malformed();
	const messages = sharedMessages(body, start, before);
	const calls = new Calls();
	for (const { calls: made, results } of messages) calls.pass(made, results);
	const last = messages.at(-1);
	let at = last ? next(body, last.end, CLOSE_ARRAY) : skipSpace(body, start + 1);
	while (body[at] !== CLOSE_ARRAY) {
		const message = readMessage(new JsonSpan(body, at, endOfValue(body, at)), reader, calls);
		messages.push(message);
		at = next(body, message.end, CLOSE_ARRAY);
	}
	return { start, end: at + 1, messages };
}

/** The messages of an earlier request that stand in the same bytes at the same place. */
function sharedMessages(
	body: Buffer,
	start: number,
	before: ReadResults | undefined,
): WireMessage[] {
	if (before?.start !== start) return [];
	const shared = sharedBytes(body, before.body);
	const end = before.messages.findIndex((message) => message.end > shared);
	return before.messages.slice(0, end === -1 ? undefined : end);
}

const STEP_BYTES = 32 * 1024;

function sharedBytes(one: Buffer, other: Buffer): number {
	const most = Math.min(one.length, other.length);
	let at = 0;
	for (let end = STEP_BYTES; at < most; end += STEP_BYTES) {
		const to = Math.min(end, most);
		if (one.compare(other, at, to, at, to) !== 0) break;
		at = to;
	}
	while (at < most && one[at] === other[at]) at++;
	return at;
}

/** Pairs results with the calls before them: by id, or else by name and order. */
class Calls {
	readonly #byId = new Map<string, WireCall>();
	readonly #open = new Map<string, WireCall[]>();

	add(call: WireCall): void {
		if (call.id !== undefined) this.#byId.set(call.id, call);
		const open = this.#open.get(call.tool);
		if (open) open.push(call);
		else this.#open.set(call.tool, [call]);
	}

	/** The call of a result; it is answered then. */
	take(id: string | undefined, tool: string | undefined): WireCall | undefined {
		const named = id === undefined ? undefined : this.#byId.get(id);
		const open = this.#open.get(named?.tool ?? tool ?? "");
		if (!named) return open?.shift();
		const at = open?.indexOf(named) ?? -1;
		if (at >= 0) open?.splice(at, 1);
		return named;
	}

	pass(calls: readonly WireCall[], results: readonly WireResult[]): void {
		for (const call of calls) this.add(call);
		for (const { id, tool } of results) this.take(id, tool);
	}
}

/** What one format says about a message. */
interface MessageReader {
	/** The member of the request that has the messages. */
	readonly key: string;
	isByModel(message: Fields): boolean;
	calls(message: Fields): readonly WireCall[];
	/** Whether {@link results} has to look. */
	hasResults(message: Fields): boolean;
	results(message: JsonSpan, value: Fields): readonly FoundResult[];
}

type Fields = Readonly<Record<string, unknown>>;

interface FoundResult {
	readonly id: unknown;
	readonly tool?: unknown;
	readonly isError?: boolean;
	/** The JSON string; `undefined` if the result is not one text. */
	readonly text: JsonSpan | undefined;
	readonly size: number;
}

function readMessage(span: JsonSpan, reader: MessageReader, known: Calls): WireMessage {
	const { start, end, value } = span;
	if (!isRecord(value)) return { start, end, isByModel: false, calls: [], results: [] };
	const calls = reader.calls(value);
	for (const call of calls) known.add(call);
	const results = reader.hasResults(value)
		? reader.results(span, value).map((found) => resultOf(found, known))
		: [];
	return { start, end, isByModel: reader.isByModel(value), calls, results };
}

function resultOf({ id, tool, isError, text, size }: FoundResult, known: Calls): WireResult {
	const call = known.take(stringOf(id), stringOf(tool));
	return {
		id: stringOf(id),
		tool: call?.tool ?? stringOf(tool) ?? "",
		input: call?.input,
		text: text && String(text.value),
		isError: isError === true,
		place: { start: text?.start ?? 0, end: text?.end ?? 0 },
		size,
	};
}

function callOf(id: unknown, tool: unknown, input: unknown): WireCall {
	return { id: stringOf(id), tool: stringOf(tool) ?? "", input };
}

function stringOf(value: unknown): string | undefined {
	return typeof value === "string" && value !== "" ? value : undefined;
}

function recordsIn(list: unknown): readonly Fields[] {
	return Array.isArray(list) ? list.filter(isRecord) : [];
}

/** A string, or a list of one plain block of text. */
function onlyText(span: JsonSpan | undefined, type: string): JsonSpan | undefined {
	if (span?.isString) return span;
	const [only, ...more] = span?.items() ?? [];
	if (!only?.isObject || more.length > 0) return undefined;
	const members = only.members("unique");
	const isPlain = [...members.keys()].every((key) => PLAIN.has(key));
	const text = members.get("text");
	return isPlain && members.get("type")?.value === type && text?.isString ? text : undefined;
}

const PLAIN: ReadonlySet<string> = new Set(["type", "text", "cache_control"]);

/** Bytes without the marker, which may move. */
function sizeOf(span: JsonSpan, members: ReadonlyMap<string, JsonSpan>): number {
	const marker = members.get("cache_control");
	const marked = marker ? marker.end - marker.start + ',"cache_control":'.length : 0;
	return span.end - span.start - marked;
}

const CLIENT_ROLES: ReadonlySet<string> = new Set(["user", "developer", "system"]);

const READERS: Readonly<Record<FormatName, MessageReader>> = {
	anthropic: {
		key: "messages",
		isByModel: ({ role }) => role === "assistant",
		calls: ({ content }) =>
			recordsIn(content)
				.filter(({ type }) => type === "tool_use")
				.map(({ id, name, input }) => callOf(id, name, input)),
		hasResults: ({ role, content }) =>
			role === "user" && recordsIn(content).some(({ type }) => type === "tool_result"),
		results: (message) =>
			[...(message.members("unique").get("content")?.items() ?? [])].flatMap((span) => {
				const { value } = span;
				if (!isRecord(value) || value.type !== "tool_result") return [];
				const { tool_use_id: id, is_error } = value;
				const members = span.members("unique");
				const text = onlyText(members.get("content"), "text");
				// The speaker counts, too.
				const size = "user ".length + sizeOf(span, members);
				return { id, isError: is_error === true, text, size };
			}),
	},
	chat: {
		key: "messages",
		isByModel: ({ role }) => role === "assistant",
		calls: ({ tool_calls }) =>
			recordsIn(tool_calls).map(({ id, function: called }) =>
				callOf(id, property(called, "name"), parsedArguments(property(called, "arguments"))),
			),
		hasResults: ({ role }) => role === "tool",
		results(message, { tool_call_id: id, name: tool }) {
			const members = message.members("unique");
			const text = onlyText(members.get("content"), "text");
			return [{ id, tool, text, size: sizeOf(message, members) }];
		},
	},
	responses: {
		key: "input",
		// What is not known to be the client's counts as the model's.
		isByModel: ({ type, role }) =>
			role === "assistant" ||
			(!String(type).endsWith("_output") && !CLIENT_ROLES.has(String(role))),
		calls: ({ type, call_id, name, arguments: text, input }) =>
			type === "function_call" || type === "custom_tool_call"
				? [callOf(call_id, name, parsedArguments(text ?? input))]
				: [],
		hasResults: ({ type }) => type === "function_call_output" || type === "custom_tool_call_output",
		results(item, { call_id: id }) {
			const members = item.members("unique");
			const text = onlyText(members.get("output"), "input_text");
			return [{ id, text, size: sizeOf(item, members) }];
		},
	},
	gemini: {
		key: "contents",
		isByModel: ({ role }) => role === "model",
		calls: ({ parts }) =>
			recordsIn(parts)
				.map(({ functionCall }) => functionCall)
				.filter(isRecord)
				.map(({ id, name, args }) => callOf(id, name, args)),
		hasResults: ({ parts }) => recordsIn(parts).some(({ functionResponse }) => functionResponse),
		results: (content) =>
			[...(content.members("unique").get("parts")?.items() ?? [])].flatMap((part) => {
				const response = part.isObject ? part.members("unique").get("functionResponse") : undefined;
				if (!response?.isObject) return [];
				const members = response.members("unique");
				const said = members.get("response")?.members("unique");
				const output = said?.size === 1 && !members.has("parts") ? said.get("output") : undefined;
				const [id, tool] = [members.get("id")?.value, members.get("name")?.value];
				const isError = said?.has("error") ?? false;
				const text = output?.isString ? output : undefined;
				return { id, tool, isError, text, size: content.end - content.start };
			}),
	},
};
