import { property } from "../core/property.ts";
import { foldReadInput } from "../core/read-input.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	type BlockKind,
	contentHash,
	createLineHasher,
	type FileRead,
	nameOr,
	type SourceBlock,
} from "../economy/replay/index.ts";
import type { Detail } from "./session-format.ts";

/** Assumed size of every image in tokens: pi's own average. */
export const IMAGE_TOKENS = 1200;

/** One part of a message, such as a text or a call, in the agent's own form. */
export interface Part {
	readonly kind: BlockKind;
	readonly label: string;
	/** Only hashed. Equal for parts that the provider takes for the same. */
	readonly content: unknown;
	readonly tokens: number;
}

/** A call of a tool by the model. */
interface ToolCall {
	readonly id: unknown;
	readonly name: unknown;
	/** Parsed; only its path and range are kept. */
	readonly input: unknown;
}

interface ResultPart {
	readonly callId: unknown;
	/** If the result itself names its tool. */
	readonly tool?: unknown;
	readonly content: unknown;
	/** All texts of the result, as the model sees them. */
	readonly text: string;
	readonly images: number;
	readonly isError: boolean;
	/** The read cache answered with a marker or a diff. */
	readonly isShort?: boolean;
}

/** A result with its call, as the agent wrote them. */
export interface ResultText {
	readonly callId: string;
	readonly input: unknown;
	readonly text: string;
}

type Result = NonNullable<SourceBlock["result"]>;

const texts = new WeakMap<Result, ResultText>();

/** The text of a result in a session that was read with the detail `texts`, as long as the session is in memory. */
export function resultTextOf(result: Result): ResultText | undefined {
	return texts.get(result);
}

/** Bounds the memory of one session. Later results have no text. */
const MAX_TEXT_CHARS = 128 * 1024 * 1024;

/** Makes the blocks of one session, and pairs results with their calls. Holds texts only if asked to. */
export class BlockMaker {
	#count = 0;
	#textChars = 0;
	readonly #calls = new Map<string, { tool: string; read?: FileRead; input?: unknown }>();
	readonly #hashLines = createLineHasher();
	readonly #detail: Detail;

	constructor(detail: Detail = "contents") {
		this.#detail = detail;
	}

	block({ kind, label, content, tokens }: Part): SourceBlock {
		const run = RUNS[kind];
		const id = this.#count++;
		return {
			id,
			kind,
			hash: this.#detail === "bills" ? String(id) : contentHash(kind, content),
			estimate: Math.max(1, tokens),
			counted: false,
			label,
			...(run && { run }),
		};
	}

	/** The blocks of an answer whose parts are all known. */
	answer(parts: readonly Part[], outputTokens: number): SourceBlock[] {
		return counted(
			parts.map((part) => this.block(part)),
			outputTokens,
		);
	}

	/** Notes a call, so that its result can say which tool and file it is from. */
	noteCall({ id, name, input }: ToolCall): void {
		const key = nameOr(id, "");
		if (key === "") return;
		const tool = nameOr(name, "a tool");
		const read = READS.has(tool.toLowerCase()) ? readOf(input) : undefined;
		const kept = this.#detail === "texts" && { input };
		this.#calls.set(key, { tool, ...(read && { read }), ...kept });
	}

	result(part: ResultPart): SourceBlock {
		const { text, images, isError } = part;
		const call = this.#calls.get(nameOr(part.callId, ""));
		const tool = nameOr(part.tool, call?.tool ?? "a tool");
		const read = call?.read;
		const hasImage = images > 0;
		const isText = !hasImage && !isError;
		const hasLines = isText && this.#detail !== "bills";
		const lines = read && hasLines ? this.#hashLines(text) : undefined;
		const shown = read && isText ? { ...read, ...(lines && { lines }) } : undefined;
		const tokens = estimateTokens(text.length) + images * IMAGE_TOKENS;
		const label = read ? `result of ${tool} ${read.path}` : `result of ${tool}`;
		const result: Result = {
			tool,
			...(part.isShort && { isShort: true }),
			hasImage,
			isError,
			...(shown && { read: shown }),
		};
		if (this.#detail === "texts" && this.#textChars + text.length <= MAX_TEXT_CHARS) {
			this.#textChars += text.length;
			texts.set(result, { callId: nameOr(part.callId, ""), input: call?.input, text });
		}
		return { ...this.block({ kind: "result", label, content: part.content, tokens }), result };
	}
}

const RUNS: Partial<Record<BlockKind, SourceBlock["run"]>> = { call: "calls", result: "results" };

/** The blocks of an answer, with the provider's count of its tokens shared out over them. */
export function counted(blocks: readonly SourceBlock[], outputTokens: number): SourceBlock[] {
	const total = blocks.reduce((sum, { estimate }) => sum + estimate, 0);
	if (outputTokens === 0 || total === 0) return [...blocks];
	const share = outputTokens / total;
	return blocks.map((block) => ({
		...block,
		estimate: Math.max(1, Math.round(block.estimate * share)),
		counted: true,
	}));
}

/** The tools that read a file, in lower case, of all agents. */
const READS: ReadonlySet<string> = new Set(["read", "read_file", "view"]);

function readOf(given: unknown): FileRead | undefined {
	const input = foldReadInput(given);
	const path =
		property(input, "path") ?? property(input, "file_path") ?? property(input, "filePath");
	if (typeof path !== "string") return undefined;
	const offset = property(input, "offset") ?? "";
	const limit = property(input, "limit") ?? "";
	return {
		path: nameOr(path, ""),
		window: nameOr(`${offset}+${limit}`, ""),
		isWhole: (offset === "" || offset === 0 || offset === 1) && limit === "",
	};
}

export function textTokens(text: unknown): number {
	return typeof text === "string" ? estimateTokens(text.length) : 0;
}

export function callTokens(name: unknown, input: unknown): number {
	const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
	return estimateTokens((typeof name === "string" ? name.length : 0) + text.length);
}
