import { SessionWriter } from "../economy/replay/session-writer.ts";
import { code } from "./results.ts";

/** The kind of a generated session. Shares are of answers. */
export interface Kind {
	readonly answers: number;
	/** Tokens of tools and system prompt. */
	readonly head: number;
	/** Shares that a pause, a compaction, another branch, or another model follows. */
	readonly pauses: number;
	readonly compactions: number;
	readonly branches: number;
	readonly switches: number;
	/** The share of answers with several calls. */
	readonly parallel: number;
	/** The share of answers that think. */
	readonly thinking: number;
	readonly model: string;
}

const PLAIN: Kind = {
	answers: 60,
	head: 9000,
	pauses: 0,
	compactions: 0,
	branches: 0,
	switches: 0,
	parallel: 0.2,
	thinking: 0.3,
	model: "claude-opus-4-5",
};

const ALL: Kind = {
	...PLAIN,
	answers: 120,
	pauses: 0.08,
	compactions: 0.02,
	branches: 0.03,
	switches: 0.05,
};

export const kinds: Readonly<Record<string, Kind>> = {
	short: { ...PLAIN, answers: 4 },
	"short, with a small head": { ...PLAIN, answers: 8, head: 3000 },
	"a run of calls": PLAIN,
	long: { ...PLAIN, answers: 250 },
	"with pauses": { ...PLAIN, pauses: 0.15 },
	"with compactions": { ...PLAIN, answers: 120, compactions: 0.03 },
	"with branches": { ...PLAIN, branches: 0.05 },
	"with other models": { ...PLAIN, switches: 0.1 },
	"with all of it": ALL,
	"with all of it, on a model that binds thinking": { ...ALL, model: "claude-fable-5-1" },
	"on a model that binds thinking": { ...PLAIN, answers: 120, model: "claude-opus-5-5" },
};

/** A session of pi whose results repeat lines and hold noisy output; the same for the same seed. */
export function sessionOf(kind: Kind, seed: number): SessionWriter {
	const writer = new SessionWriter();
	let state = (seed * 2_654_435_761) >>> 0;
	const random = () => {
		state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
		return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
	};
	const below = (most: number) => Math.floor(random() * most);
	const versions = new Map<number, number>();
	const ids: { id: string; tokens: number; cached: number }[] = [];
	let [tokens, cached, model] = [kind.head, 0, kind.model];
	const add = (id: string, text: string) => {
		tokens += Math.ceil(text.length / 4);
		ids.push({ id, tokens, cached });
	};
	add(writer.user("Make it work."), "Make it work.");
	for (let answer = 0; answer < kind.answers; answer++) {
		if (random() < kind.switches)
			[model, cached] = [model === kind.model ? "claude-sonnet-4-5" : kind.model, 0];
		if (random() < kind.branches) {
			const back = ids[ids.length - 1 - below(Math.min(8, ids.length))];
			if (back) [writer.leaf, tokens, cached] = [back.id, back.tokens, back.cached];
		}
		if (random() < kind.compactions && ids.length > 10) compact();
		const isPause = random() < kind.pauses;
		if (isPause) pause();
		if (isPause || random() < 0.2) add(writer.user("Go on."), "Go on.");
		const calls = Array.from({ length: random() < kind.parallel ? 2 : 1 }, (_, at) => ({
			id: `c${answer}-${at}`,
			...callAndResult(),
		}));
		const content = calls.map(({ id, tool, input }) => writer.call(id, tool, input));
		const thought =
			random() < kind.thinking ? [{ type: "thinking", thinking: "well ".repeat(40) }] : [];
		const usage = { cacheRead: cached, cacheWrite: tokens - cached, output: 40 };
		const id = writer.assistant([...thought, ...content], usage, { model });
		cached = tokens;
		add(id, JSON.stringify([...thought, ...content]));
		for (const { id, tool, text } of calls) add(writer.result(id, tool, text), text);
	}
	writer.assistant(
		"done",
		{ cacheRead: cached, cacheWrite: tokens - cached, output: 4 },
		{ model },
	);
	return writer;

	function callAndResult(): { tool: string; input: object; text: string } {
		const file = below(8);
		if (random() < 0.15) versions.set(file, (versions.get(file) ?? 0) + 1);
		const changed = versions.get(file) ?? 0;
		const lines = code(40 + file * 30, `file${file}`);
		for (let at = 0; at < changed; at++) lines[(at * 37) % lines.length] = `changed ${at}`;
		const path = `src/file-${file}.ts`;
		const kind = below(4);
		if (kind === 0) return { tool: "bash", input: { command: "make" }, text: noise() };
		if (kind === 1) {
			const found = lines.filter((_, at) => at % 3 > 0).map((line) => `${path}: ${line}`);
			return { tool: "bash", input: { command: `grep -n x ${path}` }, text: found.join("\n") };
		}
		if (kind === 2) {
			const [offset, limit] = [1 + below(40), 30 + below(60)];
			const text = lines.slice(offset - 1, offset - 1 + limit).join("\n");
			return { tool: "read", input: { path, offset, limit }, text: text || "no lines" };
		}
		return { tool: "read", input: { path }, text: lines.join("\n") };
	}

	function noise(): string {
		const steps = Array.from({ length: 20 + below(60) }, (_, at) => `Compiling module ${at} of 80`);
		const waits = Array(below(40)).fill("waiting for the server");
		return [...steps, ...waits, ...code(30, "out"), random() < 0.3 ? "error: no" : "ok"].join("\n");
	}

	/** Below the lifetime of the cache, beyond it, or beyond the long one. */
	function pause(): void {
		const ms = [200_000, 600_000, 4_000_000][below(3)] as number;
		writer.atMs += ms;
		if (ms > 300_000) cached = 0;
	}

	function compact(): void {
		const kept = ids[ids.length - 1 - below(Math.min(6, ids.length))]?.id;
		const fields = { summary: "what was said", firstKeptEntryId: kept, tokensBefore: tokens };
		tokens = kind.head + 3000;
		cached = 0;
		ids.push({ id: writer.entry("compaction", fields), tokens, cached });
	}
}
