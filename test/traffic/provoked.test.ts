// @module-tag slow
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { BookedRequest } from "../../src/traffic/book-rows.ts";
import { Book, TrafficObserver } from "../../src/traffic/index.ts";
import { tempDir } from "../support/temp.ts";
import { image, type Prompt, reply, StandIn, says, step, TOOLS } from "./stand-in.ts";

type Sent = Prompt & {
	readonly pauseMs?: number;
	readonly subagent?: string;
	readonly upstream?: string;
};
type Told = (name: string) => {
	readonly first: Prompt["messages"];
	readonly second: Prompt["messages"];
	readonly third: Prompt["messages"];
};

const MINUTE = 60_000;
const talk: Told = (name) => {
	const first = [says(`question ${name}`)];
	const second = [...first, ...step(`${name} a`)];
	return { first, second, third: [...second, ...step(`${name} b`)] };
};

interface Case {
	/** What is sent after the first two requests of a conversation. */
	readonly sends: (told: ReturnType<Told>, name: string) => readonly Sent[];
	/** Goes for the first two requests, too. */
	readonly always?: Partial<Sent>;
	/** The misses of all its requests. */
	readonly misses: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
	"nothing at all": { sends: ({ third }) => [{ messages: third }], misses: [] },
	"a tool more": {
		sends: ({ third }) => [{ messages: third, tools: [...TOOLS, "Web"] }],
		misses: ["tools: tool Web"],
	},
	"a tool less": {
		sends: ({ third }) => [{ messages: third, tools: ["Read"] }],
		misses: ["tools: tool Bash (gone)"],
	},
	"another system prompt": {
		sends: ({ third }, name) => [{ messages: third, system: `${name} other` }],
		misses: ["system: system prompt"],
	},
	"another model": {
		sends: ({ third }) => [{ messages: third, model: "claude-sonnet-5" }],
		misses: ["model: -"],
	},
	"another model and back": {
		sends: ({ third, second }) => [
			{ messages: second, model: "claude-sonnet-5" },
			{ messages: third },
		],
		misses: ["model: -"],
	},
	"another effort": {
		sends: ({ third }) => [{ messages: third, effort: "low" }],
		misses: ["thinking: setting effort"],
	},
	"another choice of a tool": {
		sends: ({ third }) => [{ messages: third, toolChoice: { type: "any" } }],
		misses: ["setting: setting tool choice"],
	},
	"another upstream": {
		sends: ({ third }) => [{ messages: third, upstream: "gateway", pauseMs: 6 * MINUTE }],
		misses: ["setting: setting upstream"],
	},
	"a pause of six minutes": {
		sends: ({ third }) => [{ messages: third, pauseMs: 6 * MINUTE }],
		misses: ["expired: -"],
	},
	"a pause of six minutes in a cache for an hour": {
		always: { ttl: "1h" },
		sends: ({ third }) => [{ messages: third, pauseMs: 6 * MINUTE }],
		misses: [],
	},
	"a pause of an hour in a cache for an hour, after a request that only read": {
		always: { ttl: "1h" },
		sends: ({ second, third }) => [{ messages: second }, { messages: third, pauseMs: 61 * MINUTE }],
		misses: ["expired: -"],
	},
	"a tool more after six minutes in a cache for an hour, after a request that only read": {
		always: { ttl: "1h" },
		sends: ({ second, third }) => [
			{ messages: second },
			{ messages: third, tools: [...TOOLS, "Web"], pauseMs: 6 * MINUTE },
		],
		misses: ["tools: tool Web"],
	},
	"a compaction whose head is read": {
		sends: (_, name) => [{ messages: [says(`summary ${name}`, 2000)] }],
		misses: [],
	},
	"a compaction after a pause of six minutes": {
		sends: (_, name) => [{ messages: [says(`summary ${name}`, 2000)], pauseMs: 6 * MINUTE }],
		misses: ["compaction: user message 1"],
	},
	"an earlier message that changed": {
		sends: ({ third }, name) => [{ messages: [says(`other ${name}`), ...third.slice(1)] }],
		misses: ["messages: user message 1"],
	},
	"a branch from the middle of a request": {
		sends: ({ second }, name) => {
			const long = [...second, ...step(`${name} c`, 3000), ...step(`${name} d`, 3000)];
			return [{ messages: long }, { messages: [...long.slice(0, 5), says(`rather ${name}`)] }];
		},
		misses: ["branch: user message 6"],
	},
	"a branch from the end of a request": {
		sends: ({ second, third }, name) => [
			{ messages: third },
			{ messages: [...second, reply(name), says(`rather ${name}`)] },
		],
		misses: [],
	},
	"a sub-agent in between": {
		sends: ({ third }, name) => [
			{ messages: [says(`task ${name}`)], system: "sub", subagent: "x" },
			{ messages: third },
		],
		misses: [],
	},
	"a sub-agent without a name in between": {
		sends: ({ third }, name) => [
			{ messages: [says(`task ${name}`)], system: "sub" },
			{ messages: [says(`task ${name}`), ...step(`${name} sub`)], system: "sub" },
			{ messages: third },
		],
		misses: [],
	},
	"a title in between": {
		sends: ({ first, third }) => [
			{ messages: first, tools: [], system: "title", model: "claude-haiku-4-5" },
			{ messages: third },
		],
		misses: [],
	},
	"a suggestion of another model in between": {
		sends: ({ second, third }, name) => [
			{ messages: [...second, says(`suggest ${name}`)], model: "claude-haiku-4-5" },
			{ messages: third },
		],
		misses: ["model: -"],
	},
	"a first image": {
		sends: ({ second }, name) => [{ messages: [...second, reply(name), image(name)] }],
		misses: ["setting: setting images"],
	},
	"another image": {
		sends: ({ second }, name) => {
			const shown = [...second, reply(name), image(name)];
			return [
				{ messages: shown },
				{ messages: [...shown, reply(`${name} 2`), image(`${name} 2`)] },
			];
		},
		misses: ["setting: setting images"],
	},
};

/** Prices of a million tokens: plain input, reads, writes, and writes for an hour. */
const PRICES: Readonly<Record<string, readonly [number, number, number, number]>> = {
	"claude-opus-5": [5, 0.5, 6.25, 10],
	"claude-sonnet-5": [2, 0.2, 2.5, 4],
	"claude-haiku-4-5": [1, 0.1, 1.25, 2],
};

/** What a miss costs more than a read: tokens count as written as far as the bill has writes. */
function dollarsOf({ model, tokens, miss }: BookedRequest): number {
	const [input, read, write, hour] = PRICES[model] ?? [0, 0, 0, 0];
	const missed = miss?.tokens ?? 0;
	const written = Math.min(missed, tokens?.write ?? 0);
	const again = written * (tokens?.writeOneHour ? hour : write) + (missed - written) * input;
	return (again - missed * read) / 1e6;
}

const sessionOf = (name: string) => `s${Object.keys(CASES).indexOf(name)}`;

describe("through the observer,", () => {
	const booked = new Map<string, BookedRequest[]>();

	beforeAll(async () => {
		const folder = join(tempDir(), "traffic");
		const observer = new TrafficObserver({ folder, keepDays: 30, keepTexts: false });
		const provider = new StandIn();
		provider.nowMs = Date.now() - 24 * 60 * MINUTE;
		for (const [name, { sends, always }] of Object.entries(CASES)) {
			const told = talk(name);
			const sent = [{ messages: told.first }, { messages: told.second }, ...sends(told, name)];
			for (const one of sent) {
				const { pauseMs = 1000, subagent, upstream = "anthropic", ...prompt } = one as Sent;
				const requestHeaders = {
					"user-agent": "claude-cli/2.1.325",
					"x-claude-code-session-id": sessionOf(name),
					...(subagent && { "x-claude-code-agent-id": `${name} ${subagent}` }),
				};
				const changes = { requestHeaders, upstream, pauseMs };
				observer.add(provider.exchange({ system: name, ...always, ...prompt }, changes));
			}
		}
		await observer.drain();
		expect(observer.counts).toMatchObject({ booked: provider.bills.length, failed: 0 });
		await observer.close();
		const book = (await Book.openForReading(folder)) as Book;
		for (const { id, speaker } of book.conversations()) {
			const { session = "" } = speaker;
			booked.set(session, [...(booked.get(session) ?? []), ...book.requests(id)]);
		}
		book.close();
	});

	test.each(Object.entries(CASES))("%s", (name, { misses }) => {
		const requests = booked.get(sessionOf(name)) ?? [];
		const found = requests.filter(({ miss }) => miss).sort((a, b) => a.id - b.id);
		expect(found.map(({ miss }) => `${miss?.cause}: ${miss?.changed ?? "-"}`)).toEqual(misses);
		for (const request of found) {
			expect(request.miss?.tokens).toBeGreaterThan(900);
			expect(request.miss?.dollars).toBeCloseTo(dollarsOf(request), 9);
		}
	});
});
