import type { CallResult } from "../birth/engine.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { isRecord, property } from "../core/property.ts";
import { MessageHash } from "../importers/message-hash.ts";
import type { ToolForm } from "./claude-tools.ts";
import type { Call, InView } from "./in-view.ts";

/** A call, with the answer that made it and the request that was answered. */
interface ThreadCall extends Call {
	readonly answer: string;
	readonly request: string | undefined;
}

interface Result {
	readonly callId: string;
	/** `undefined` if it is not one text. */
	readonly text: string | undefined;
	readonly isError: boolean;
}

/** A request as Claude Code recorded it: the first messages of another one, then these, by hash. */
interface Request {
	readonly base: string;
	readonly keep: number;
	readonly tail: readonly string[];
	/** Whether the provider got exactly these messages, and keeps their results. */
	readonly isPlain: boolean;
}

/** What a tool returned, and what the model was shown of it. */
interface Shown {
	/** `undefined` in a sub-agent, whose transcript does not have it. */
	readonly response: unknown;
	readonly text: string;
}

/** In place of a hash. */
const UNKNOWN = "";
const MAX_SHOWN = 8;

/**
 * One thread of a Claude Code session: its own, or that of a sub-agent. Takes the lines of a transcript
 * in order. Only what a recorded request held counts as sent.
 */
export class ClaudeThread {
	/** The folder in which the session began. */
	cwd: string | undefined;
	readonly #agentId: string | undefined;
	readonly #calls = new Map<string, ThreadCall>();
	readonly #requests = new Map<string, Request>();
	/** By hash: the results in it. */
	readonly #messages = new Map<string, readonly Result[]>();
	readonly #answers = new Map<string, MessageHash>();
	readonly #shown = new Map<string, Shown[]>();
	readonly #uuids = new Set<string>();
	#answer: string | undefined;
	#run: { readonly hash: MessageHash; readonly parts: unknown[] } | undefined;

	/** Without an id, the session's own thread. */
	constructor(agentId?: string) {
		this.#agentId = agentId;
	}

	/** Throws a RangeError if the line is nested too deeply. */
	add(line: unknown): void {
		const agentId = property(line, "agentId");
		if ((typeof agentId === "string" ? agentId : undefined) !== this.#agentId) return;
		const type = property(line, "type");
		if (type === "api-request-blob") this.#addMessage(line);
		else if (type === "api-request") this.#addRequest(line);
		else if (type === "user" || type === "assistant") this.#addLine(line, type);
	}

	/** Whether this version of Claude Code records its requests. */
	get isRecorded(): boolean {
		return this.#requests.size > 0;
	}

	/** What the model sees above the result of this call; `undefined` if that cannot be known. */
	viewOf(callId: string): InView | undefined {
		const call = this.#calls.get(callId);
		const request = this.#requests.get(call?.request ?? "");
		if (!call || !request?.isPlain) return undefined;
		const results: CallResult[] = [];
		const seen = new Set([callId]);
		let isWhole = true;
		for (const hash of this.#messagesOf(request)) {
			const held = this.#messages.get(hash);
			isWhole &&= held !== undefined;
			for (const { callId: id, text, isError } of held ?? []) {
				const made = this.#calls.get(id);
				// Its name is unknown, so no name above it is certain.
				if (!made) results.length = 0;
				else if (seen.has(id)) return undefined;
				else results.push({ id, tool: made.tool, input: made.input, text, isError });
				seen.add(id);
			}
		}
		const isUnseen = (one: ThreadCall) =>
			!seen.has(one.id) && (!isWhole || one.answer === call.answer);
		return { results, unseen: [...this.#calls.values()].filter(isUnseen) };
	}

	/**
	 * Whether the latest results of the tool were shown in this form, one of them at least. A result of
	 * which the form says nothing does not count.
	 */
	confirms(tool: string, form: Pick<ToolForm, "shownAs" | "isFormOf">): boolean {
		const verdicts = (this.#shown.get(tool) ?? []).map(({ response, text }) => {
			if (response === undefined) return form.isFormOf(text);
			const expected = form.shownAs(response);
			return expected === undefined ? undefined : expected === text;
		});
		return verdicts.includes(true) && !verdicts.includes(false);
	}

	#addMessage(line: unknown): void {
		const hash = property(line, "hash");
		if (typeof hash === "string") {
			this.#messages.set(hash, resultsIn(partsOf(property(line, "message"))));
		}
	}

	#addRequest(line: unknown): void {
		const [id, base, keep] = ["id", "base", "keep"].map((key) => property(line, key));
		const tail = property(line, "tail");
		if (typeof id !== "string" || typeof keep !== "number" || !isHashes(tail)) return;
		this.#joinResults(tail);
		const isPlain = property(line, "cut") === undefined && !clears(property(line, "params"));
		this.#requests.set(id, { base: String(base), keep, tail, isPlain });
	}

	/** In order. Messages of a request that the transcript does not have are one that is unknown. */
	#messagesOf(request: Request): string[] {
		const parts: (readonly string[])[] = [];
		let wanted = request.keep + request.tail.length;
		for (let at: Request | undefined = request; at && wanted > 0; ) {
			const { keep, tail, base }: Request = at;
			if (keep + tail.length < wanted) break;
			parts.push(tail.slice(0, Math.max(0, wanted - keep)));
			wanted = Math.min(wanted, keep);
			at = this.#requests.get(base);
		}
		if (wanted > 0) parts.push([UNKNOWN]);
		return parts.reverse().flat();
	}

	#addLine(line: unknown, role: "user" | "assistant"): void {
		const [uuid, message] = [property(line, "uuid"), property(line, "message")];
		if (typeof uuid !== "string" || this.#uuids.has(uuid)) return;
		this.#uuids.add(uuid);
		const cwd = property(line, "cwd");
		if (typeof cwd === "string") this.cwd ??= cwd;
		const parts = partsOf(message);
		if (role === "assistant") this.#addAnswer(line, message, parts);
		else this.#addResults(line, parts);
	}

	#addAnswer(line: unknown, message: unknown, parts: readonly unknown[]): void {
		const [id, request] = [property(message, "id"), property(line, "requestRef")];
		if (typeof id !== "string") return;
		// Results of early calls stand between the lines of one answer.
		if (id !== this.#answer) this.#run = undefined;
		this.#answer = id;
		const hash = getOrAdd(this.#answers, id, () => new MessageHash()).add(parts);
		this.#messages.set(hash.of("assistant"), []);
		for (const part of parts) {
			const { id: callId, name, input } = isRecord(part) ? part : {};
			if (typeof callId !== "string" || typeof name !== "string") continue;
			const ref = typeof request === "string" ? request : undefined;
			this.#calls.set(callId, { id: callId, tool: name, input, answer: id, request: ref });
		}
	}

	#addResults(line: unknown, parts: readonly unknown[]): void {
		this.#run ??= { hash: new MessageHash(), parts: [] };
		// What follows the results may be a message of its own, such as the summary of a compaction.
		const isFirst = this.#run.parts.length === 0;
		if (!isFirst) this.#messages.set(new MessageHash().add(parts).of("user"), resultsIn(parts));
		for (const part of parts) this.#run.parts.push(part);
		const hash = this.#run.hash.add(parts).of("user");
		this.#messages.set(hash, resultsIn(this.#run.parts));
		const [only, other] = resultsIn(parts);
		const response = property(line, "toolUseResult");
		const tool = this.#calls.get(only?.callId ?? "")?.tool;
		if (!tool || other || only?.text === undefined || only.isError) return;
		const shown = getOrAdd(this.#shown, tool, () => []);
		shown.push({ response, text: only.text });
		if (shown.length > MAX_SHOWN) shown.shift();
	}

	/** Results are sent in the order of their calls, and written as they end. */
	#joinResults(tail: readonly string[]): void {
		const parts = this.#run?.parts ?? [];
		if (parts.length < 2 || tail.every((hash) => this.#messages.has(hash))) return;
		const places = new Map([...this.#calls.keys()].map((id, place) => [id, place]));
		const placeOf = (part: unknown) =>
			places.get(String(property(part, "tool_use_id"))) ?? Number.POSITIVE_INFINITY;
		const sorted = parts.toSorted((a, b) => placeOf(a) - placeOf(b));
		this.#messages.set(new MessageHash().add(sorted).of("user"), resultsIn(sorted));
	}
}

function partsOf(message: unknown): readonly unknown[] {
	const content = property(message, "content");
	if (typeof content === "string") return [{ type: "text", text: content }];
	return Array.isArray(content) ? content : [];
}

function resultsIn(parts: readonly unknown[]): Result[] {
	return parts.flatMap((part) => {
		const callId = property(part, "tool_use_id");
		if (property(part, "type") !== "tool_result" || typeof callId !== "string") return [];
		const text = onlyText(property(part, "content"));
		return { callId, text, isError: property(part, "is_error") === true };
	});
}

function onlyText(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	const [block, other] = Array.isArray(content) ? content : [];
	const text = property(block, "type") === "text" ? property(block, "text") : undefined;
	return typeof text === "string" && other === undefined ? text : undefined;
}

function isHashes(value: unknown): value is readonly string[] {
	return Array.isArray(value) && value.every((hash) => typeof hash === "string");
}

/** Whether the provider may replace results. Clearing of thinking leaves them as they are. */
function clears(params: unknown): boolean {
	const management = property(params, "context_management");
	if (management === undefined || management === null) return false;
	const edits = property(management, "edits");
	const isHarmless = (edit: unknown) =>
		String(property(edit, "type")).startsWith("clear_thinking_");
	return !Array.isArray(edits) || !edits.every(isHarmless);
}
