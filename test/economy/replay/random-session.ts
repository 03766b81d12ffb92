import { SessionWriter } from "./session-writer.ts";

/** What may happen in a random session, besides that it grows. */
export interface Incidents {
	/** The share of entries after which the session is compacted, edited or goes on from an earlier entry. */
	readonly rearranged: number;
	/** The share of requests whose bill does not fit the texts. */
	readonly misbilled: number;
}

/** A session of an agent in a loop of tools, with what may come in between; the same for the same seed. */
export function randomSession(
	seed: number,
	entries: number,
	{ rearranged, misbilled }: Incidents,
): SessionWriter {
	const writer = new SessionWriter();
	let state = seed * 2_654_435_761 + 12_345;
	const random = () => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
		return state / 0x80000000;
	};
	const below = (most: number) => Math.floor(random() * most);
	const ids: string[] = [];
	let [total, cached, results] = [9000, 0, 0];
	const say = (words: number) => {
		total += words;
		return "word ".repeat(words);
	};
	while (ids.length < entries) {
		if (random() < 0.15) ids.push(writer.user(say(5 + below(60))));
		if (random() < rearranged) rearrange();
		if (random() < 0.02) writer.atMs += below(2) * 600_000;
		const call = `c${ids.length}`;
		const path = `src/file-${below(12)}.ts`;
		const tool = random() < 0.7 ? "read" : "bash";
		const part = random() < 0.3 ? { offset: 1 + below(3) * 20, limit: 20 + below(40) } : {};
		const content = [
			...(random() < 0.2 ? [{ type: "thinking", thinking: say(20) }] : []),
			...(random() < 0.5 ? [{ type: "text", text: say(10) }] : []),
			writer.call(call, tool, { path, ...part }),
		];
		const model = random() < 0.03 ? { model: "claude-sonnet-4-5" } : {};
		const prompt = random() < misbilled ? Math.round(total * (0.8 + random() * 0.4)) : total;
		const cacheRead = random() < 0.05 ? 0 : Math.min(cached, prompt);
		ids.push(writer.assistant(content, { cacheRead, cacheWrite: prompt - cacheRead }, model));
		cached = prompt;
		const version = below(3);
		const lines = Array.from({ length: 2 + below(90) }, (_, line) => `${path} ${line} ${version}`);
		total += lines.length * 6;
		ids.push(writer.result(call, tool, lines.join("\n")));
		results++;
	}
	return writer;

	function rearrange(): void {
		const target = ids[below(ids.length)];
		if (target === undefined || results < 3) return;
		const kind = below(4);
		if (kind === 0) {
			const kept = ids[Math.max(0, ids.length - 1 - below(12))];
			const fields = { summary: "what was said", firstKeptEntryId: kept, tokensBefore: total };
			ids.push(writer.entry("compaction", fields));
			total = 12_000;
		} else if (kind === 1) {
			const replacement = { content: [{ type: "text", text: "gone" }] };
			ids.push(writer.entry("context_edit", { targetId: target, replacement }));
		} else if (kind === 2) writer.leaf = target;
		else
			ids.push(writer.entry("thinking_level_change", { thinkingLevel: below(2) ? "high" : "low" }));
	}
}
