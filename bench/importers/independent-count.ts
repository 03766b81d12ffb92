/** Counts what session files were billed for, by the rules of their formats. Shares no code with the importers. */

export interface Count {
	requests: number;
	/** Neither read from a cache nor written to it. */
	input: number;
	read: number;
	write: number;
}

// biome-ignore lint/suspicious/noExplicitAny: it counts files that are known to be sound.
type Json = any;

/** A `.jsonl` file of pi, Claude Code or Codex, or an export of opencode. */
export function independentCount(text: string): Count {
	const count: Count = { requests: 0, input: 0, read: 0, write: 0 };
	const add = (input: number, read: number, write: number) => {
		if (input + read + write === 0) return;
		count.requests += 1;
		count.input += input;
		count.read += read;
		count.write += write;
	};
	if (text.startsWith('{"info"') || text.startsWith('{\n  "info"')) {
		for (const { info } of JSON.parse(text).messages) {
			if (info.role !== "assistant") continue;
			add(info.tokens.input, info.tokens.cache.read, info.tokens.cache.write);
		}
		return count;
	}
	const lines = text.split("\n").flatMap(parsed);
	if (lines.some(({ type }) => type === "session_meta")) countCodex(lines, add);
	else if (lines.some(({ parentUuid }) => parentUuid !== undefined)) countClaude(lines, add);
	else countPi(lines, add);
	return count;
}

/** Nothing for a damaged line. */
function parsed(line: string): Json[] {
	try {
		return [JSON.parse(line)];
	} catch {
		return [];
	}
}

type Add = (input: number, read: number, write: number) => void;

function countPi(lines: readonly Json[], add: Add): void {
	for (const { message, type } of lines) {
		if (type !== "message" || message.role !== "assistant" || !message.usage) continue;
		add(message.usage.input, message.usage.cacheRead, message.usage.cacheWrite);
	}
}

/** Each block of an answer is a line with the answer's bill; the last line has the final one. */
function countClaude(lines: readonly Json[], add: Add): void {
	const bills = new Map<string, Json>();
	for (const { type, message, uuid } of lines) {
		if (type !== "assistant" || message.model === "<synthetic>" || !message.usage) continue;
		bills.set(message.id ?? uuid, message.usage);
	}
	for (const usage of bills.values()) {
		add(
			usage.input_tokens ?? 0,
			usage.cache_read_input_tokens ?? 0,
			usage.cache_creation_input_tokens ?? 0,
		);
	}
}

function countCodex(lines: readonly Json[], add: Add): void {
	const records = lines.filter(({ type }) => type === "token_usage_record");
	for (const { payload } of records) addOpenAi(payload.usage, add);
	if (records.length > 0) return;
	let before = "";
	for (const { payload } of lines) {
		if (payload?.type !== "token_count" || !payload.info) continue;
		const total = JSON.stringify(payload.info.total_token_usage);
		if (total !== before) addOpenAi(payload.info.last_token_usage, add);
		before = total;
	}
}

function addOpenAi(usage: Json, add: Add): void {
	const {
		input_tokens: all,
		cached_input_tokens: read,
		cache_write_input_tokens: write = 0,
	} = usage;
	add(all - read - write, read, write);
}
