import type { Data } from "../../../src/protocol/index.ts";
import type { Answers, Sent } from "./view-server.ts";

/** Hostile text: it is in every place that shows untrusted text. */
export const HOSTILE = '<img src=x onerror="globalThis.hacked=1">\u202e\u001b[31m';

/** The session that the answers are about. */
export const SESSION_ID = "s1";

const MINUTE = 60_000;

/** A server's answers about a session of some length: generated, and the same every time. */
export function sampleAnswers(now = Date.now()): Answers {
	return {
		subscribe: { seq: 0, lifecycle: "none" },
		list_sessions: { sessions: [STATE] },
		get_state: STATE,
		get_messages: { messages: [] },
		get_entries: { entries: [], leafId: null },
		get_commands: { commands: [] },
		get_available_models: { models: [model(`scripted${HOSTILE}`), model("other")] },
		get_available_thinking_levels: { levels: ["off", "low", "high"] },
		get_session_stats: {
			...{ sessionId: SESSION_ID, userMessages: 1, assistantMessages: 1, toolCalls: 0 },
			...{ toolResults: 0, totalMessages: 2, cost: 0.5 },
			tokens: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, total: 4 },
		},
		...contextAnswers(now),
		...costAnswers(now),
		...codeAnswers(now),
		...serverAnswers(now),
		...trafficAnswers(now),
		...usageAnswers(now),
		replay_session: REPORT,
		list_agent_sessions: ({ filter, after }) => pageOfFiles(now, String(filter ?? ""), after),
		list_stored_sessions: {
			sessions: [
				{
					sessionPath: "--home-me-project/a.jsonl",
					sessionName: "rename the store",
					cwd: "/home/me/project",
					createdAt: new Date(now - 60 * MINUTE).toISOString(),
					modifiedAt: new Date(now - 12 * MINUTE).toISOString(),
					messageCount: 84,
					fileExists: true,
				},
				{
					sessionPath: "--home-me-project/b.jsonl",
					cwd: "/home/me/other",
					createdAt: new Date(now - 900 * MINUTE).toISOString(),
					modifiedAt: new Date(now - 700 * MINUTE).toISOString(),
					messageCount: 6,
					firstMessage: `${HOSTILE} why does the build fail`,
					fileExists: true,
				},
			],
		},
	};
}

/** Two pages of session files. */
function pageOfFiles(now: number, filter: string, after: unknown) {
	const files = [
		{
			...{ fileId: "f1", agent: "pi", name: "a.jsonl", title: "rename the store" },
			...{ project: "/home/me/project", lastUseMs: now - 12 * MINUTE, bytes: 84_000 },
		},
		{
			...{ fileId: "f2", agent: "claude-code", name: `${HOSTILE}.jsonl` },
			...{ project: `/home/me/${HOSTILE}`, lastUseMs: now - 700 * MINUTE, bytes: 3_400_000 },
		},
		{ fileId: "f3", agent: "opencode", name: "opencode.db", lastUseMs: now, bytes: 1.2e9 },
		{
			...{ fileId: "f4", agent: "codex", name: "rollout-2026-07-01T10-00-00-0198.jsonl" },
			...{ project: "/home/me/other", lastUseMs: now - 900 * MINUTE, bytes: 640_000 },
		},
	];
	const found = files.filter(({ agent, name }) => `${agent} ${name}`.includes(filter));
	if (after !== undefined) return { files: found.slice(2) };
	return found.length > 2 ? { files: found.slice(0, 2), next: "2" } : { files: found };
}

function model(id: string) {
	return {
		...{ provider: "demo", id, name: id, reasoning: true, contextWindow: 200_000 },
		...{ maxTokens: 8_000, cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } },
	};
}

/** The session as it is. */
export const STATE: Data<"SessionState"> = {
	...{ sessionId: SESSION_ID, sessionName: `Sample ${HOSTILE}`, cwd: `/home/${HOSTILE}/project` },
	model: model(`scripted${HOSTILE}`),
	...{ thinkingLevel: "off", isStreaming: false, messageCount: 2 },
	...{ createdAt: "2026-01-01T10:00:00.000Z", isCompacting: false, isBashRunning: false },
	...{ steeringMode: "all", followUpMode: "all", autoCompactionEnabled: true },
	...{ autoRetryEnabled: true, pendingMessageCount: 0 },
};

/** The text of the piece that is longer than one part. */
export const LONG_TEXT = `first line ${HOSTILE}\n${"x".repeat(100)}\nlast line`;
const STRETCH = 120;

function contextAnswers(now: number): Answers {
	const pieces = PIECES.map(
		([kind, tokens, label, more], at): Data<"ContextPiece"> => ({
			...{ id: `p${at}`, kind, label, tokens, sinceMs: now - (60 - at) * MINUTE },
			...more,
		}),
	);
	return {
		get_context_view: {
			window: 200_000,
			tokens: pieces.reduce((sum, { tokens }) => sum + tokens, 0),
			isEstimated: false,
			reserve: 16_384,
			compactsAt: 183_616,
			cachedTokens: 41_000,
			lastRequest: { tokens: 44_000, pieces: pieces.length - 1 },
			pieces,
			history: Array.from({ length: 40 }, (_, at) => ({
				request: 5 * at + 5,
				atMs: now - (40 - at) * MINUTE,
				byKind: {
					...{ system: 3_100, tools: 5_200 },
					...(at > 3 && { map: 2_400 }),
					read: at < 25 ? at * 1_400 : 12_000 + (at - 25) * 900,
					tool: 400 * at,
					conversation: 350 * at,
					...(at >= 25 && { stub: 600 }),
				},
			})),
		},
		get_context_piece: ({ pieceId, offset }: Sent) => {
			const from = Number(offset ?? 0);
			const to = Math.min(LONG_TEXT.length, from + STRETCH);
			return {
				...{ pieceId: String(pieceId), text: LONG_TEXT.slice(from, to), offset: from },
				totalChars: LONG_TEXT.length,
				...(to < LONG_TEXT.length && { nextOffset: to }),
			};
		},
	};
}

type PieceRow = [Data<"ContextKind">, number, string, Partial<Data<"ContextPiece">>?];
const PIECES: PieceRow[] = [
	["system", 3_100, "system prompt"],
	["tools", 5_200, "11 tools: read, bash, edit, write, search_code"],
	["map", 2_400, "map of the project"],
	["file", 6_900, "src/store/journal.ts", { path: "src/store/journal.ts" }],
	["file", 1_800, "src/store/index.ts", { path: "src/store/index.ts" }],
	["conversation", 240, "Please make the journal survive a crash in the middle of a write"],
	["read", 7_300, "read src/server/serve.ts", { path: "src/server/serve.ts" }],
	["tool", 3_900, "bash npm test"],
	["stub", 60, "read src/store/old.ts", { replacedTokens: 8_800 }],
	["conversation", 900, "The journal writes its header last, so a torn write is seen"],
	["read", 380, "read src/store/journal.ts", { replacedTokens: 6_900 }],
	["tool", 4_600, `bash ${HOSTILE}`],
	["conversation", 1_500, "Both tests pass now. What changed:"],
	...Array.from({ length: 30 }, (_, at): PieceRow => {
		return at % 2 ? ["tool", 120 + 10 * at, `bash step ${at}`] : ["conversation", 60, `step ${at}`];
	}),
];

function costAnswers(now: number): Answers {
	const requests = Array.from({ length: 36 }, (_, at) => requestAt(at, now));
	const sum = (pick: (request: Data<"CostRequest">) => number) =>
		requests.reduce((total, request) => total + pick(request), 0);
	const price = (pick: (request: Data<"CostRequest">) => { tokens: number; dollars?: number }) => ({
		tokens: sum((request) => pick(request).tokens),
		dollars: sum((request) => pick(request).dollars ?? 0),
	});
	const system = (tokens: number, times: number, details: [string, number, number][] = []) => ({
		...{ enabled: true, times, tokens, dollars: tokens * 3e-6 },
		details: details.map(([label, count, own]) => ({ label, times: count, tokens: own })),
	});
	const turns = Array.from({ length: 6 }, (_, at): Data<"CostTurn"> => {
		const own = requests.slice(6 * at, 6 * at + 6);
		const all = (pick: (request: Data<"CostRequest">) => number) =>
			own.reduce((total, request) => total + pick(request), 0);
		return {
			...{ turn: at + 1, entryId: `e${at}`, firstRequest: 6 * at + 1, requests: own.length },
			prompt: at === 2 ? HOSTILE : `Please do step ${at + 1} of the plan`,
			read: all(({ read }) => read),
			write: all(({ write }) => write),
			input: all(({ input }) => input),
			output: all(({ output }) => output),
			dollars: all(({ cost, outputDollars = 0 }) => (cost.dollars ?? 0) + outputDollars),
			misses: own.filter(({ miss }) => miss).length,
			saved: { tokens: 900, dollars: at === 4 ? -0.02 : 0.01 },
		};
	});
	return {
		get_cost: {
			requests,
			turns,
			totals: {
				requests: requests.length,
				read: sum(({ read }) => read),
				write: sum(({ write }) => write),
				input: sum(({ input }) => input),
				output: sum(({ output }) => output),
				cost: price(({ cost }) => cost),
				appendOnlyCost: price(({ appendOnlyCost }) => appendOnlyCost),
				noCacheCost: price(({ noCacheCost }) => noCacheCost),
				outputDollars: sum(({ outputDollars = 0 }) => outputDollars),
				misses: 2,
				missedTokens: 40_500,
				missCost: { tokens: 46_575, dollars: 0.139725 },
				saved: {
					readCache: { tokens: 9_000, dollars: 0.31 },
					pruning: { tokens: -1_000, dollars: -0.04 },
				},
			},
		},
		get_savings: {
			readCache: system(48_200, 14, [
				["unchanged", 9, 31_000],
				[`diff of ${HOSTILE}`, 5, 17_200],
			]),
			paging: system(120_400, 3, [["docs/manual.pdf", 3, 120_400]]),
			kota: system(9_100, 6),
			pruning: system(22_700, 2, [["read", 2, 22_700]]),
			tiers: { enabled: false, times: 0, tokens: 0, details: [] },
			economy: system(0, 4),
			total: { tokens: 200_400, dollars: 0.6012 },
		},
		get_tiers: {
			layout: "tiers",
			files: (["L0", "L1", "L2", "active"] as const).map((tier, at) => ({
				...{ path: `src/store/file-${at}.ts`, tier, n: 12 - 4 * at, tokens: 6_900 - 900 * at },
				...{ lastChangeMs: now - (80 - 20 * at) * MINUTE, hits: 30 - 9 * at },
			})),
			picture:
				"system   ████\ntools    ██████\nL0       ████████  src/store/file-0.ts\nL1       ███████   src/store/file-1.ts\nhistory  ████████████████\nactive   █████     src/store/file-3.ts",
		},
	};
}

function requestAt(at: number, now: number): Data<"CostRequest"> {
	const isMissed = at === 14 || at === 27;
	const prompt = 9_000 + at * 1_100;
	const read = at === 0 ? 0 : isMissed ? 3_000 : prompt - 1_500;
	const write = prompt - read - 20;
	const priced = (tokens: number) => ({ tokens, dollars: tokens * 3e-6 });
	const cost = read * 0.1 + write * 1.25 + 20;
	return {
		...{ atMs: now - (36 - at) * MINUTE, model: "demo/scripted", read, write, input: 20 },
		...{ output: 300, cost: priced(cost), appendOnlyCost: priced(cost * 1.4 + 900) },
		...{ noCacheCost: priced(prompt), outputDollars: 0.0045 },
		...(isMissed && {
			miss: {
				...{ tokens: prompt - 4_500, cause: at === 14 ? "expired" : "pruning" },
				cost: priced((prompt - 4_500) * 1.15),
				...(at === 27 && { changed: `the result of read ${HOSTILE}` }),
			},
		}),
	};
}

function codeAnswers(now: number): Answers {
	const coverage = {
		...{ files: 412, unparsed: { count: 1, paths: [`src/${HOSTILE}.ts`] }, unresolvedImports: 3 },
		...{ checkedMs: now - 20_000, refreshedFiles: 2, complete: true },
	};
	const far = (path: string, depth: number, via?: string) => ({
		...{ path, depth, kinds: ["value" as const], isTest: path.startsWith("test/") },
		...(via !== undefined && { via }),
	});
	return {
		code_status: { state: "ready", coverage },
		code_search: {
			hits: [
				{
					path: "src/store/journal.ts",
					isTest: false,
					symbols: [
						{
							...{ name: "openJournal", kind: "function", line: 21, endLine: 80, exported: true },
							signature: "export function openJournal(file: string): Journal",
						},
						{
							...{ name: "write", owner: "Journal", kind: "method", line: 9, endLine: 9 },
							...{ exported: false, signature: "write(entry: Entry): void" },
						},
					],
					lines: [
						{ first: 21, text: ["export function openJournal(file: string) {"], matches: [21] },
					],
					matchingLines: 4,
				},
				{
					path: `test/${HOSTILE}.test.ts`,
					isTest: true,
					symbols: [],
					lines: [{ first: 3, text: [`const journal = "${HOSTILE}";`], matches: [3] }],
				},
			],
			total: 2,
			coverage,
		},
		code_deps: ({ path }: Sent) => ({
			file: String(path),
			dependencies: [
				far("src/core/atomic-file.ts", 1),
				far("src/core/hash.ts", 1),
				far("src/core/bytes.ts", 2, "src/core/hash.ts"),
			],
			dependents: [
				...Array.from({ length: 20 }, (_, at) => far(`src/server/sessions/part-${at}.ts`, 1)),
				far(`test/${HOSTILE}.test.ts`, 2, "src/server/sessions/part-0.ts"),
			],
			cycles: [[String(path), "src/core/hash.ts"]],
			unresolved: [{ specifier: HOSTILE, line: 4 }],
			external: ["ws", "typebox"],
			coverage,
		}),
		code_usages: ({ symbol }: Sent) => ({
			symbol: String(symbol),
			definitions: [
				{
					...{ path: "src/store/journal.ts", line: 21, column: 17, kind: "function" },
					...{ exported: true, signature: "export function openJournal(file: string): Journal" },
					usages: Array.from({ length: 7 }, (_, at) => ({
						...{ path: `src/server/use-${at}.ts`, line: 10 + at, column: 5, kind: "call" },
						isTest: at > 4,
					})),
					possible: { count: 2, files: ["src/any.ts"] },
				},
			],
			coverage,
		}),
	};
}

function serverAnswers(now: number): Answers {
	let asked = 0;
	return {
		get_metrics: () => {
			asked++;
			return {
				...{ uptimeMs: 7_500_000 + asked * 2_000, clients: 2, sessions: 1 },
				commands: {
					...{ pending: 1, lanes: 1, accepted: 5_000 + 30 * asked, finished: 4_990 + 30 * asked },
					...{ failed: 7, replayed: 3, timedOut: 0, rateLimited: 0, rejected: 2 },
				},
				latencyMs: { p50: 0.42, p90: 3.1, p99: 41 },
				journal: {
					...{ bytes: 5_400_000 + 9_000 * asked, commands: 5_000, events: 91_000 + 50 * asked },
					...{ sessions: 4, commits: 2_000, commitMsTotal: 3_600, pending: 0 },
				},
				memory: { rssBytes: 213_000_000, heapUsedBytes: 88_000_000, externalBytes: 9_000_000 },
			};
		},
		get_metrics_history: ({ minutes }: Sent) => historyOf(Number(minutes ?? 60), now),
		health_check: { status: "ok", problems: [], uptimeMs: 1, sessions: 1 },
		get_startup_recovery: {
			...{ startedAtMs: now - 125 * MINUTE, crashed: true, sessions: 4 },
			interrupted: [
				{ commandId: "c1", commandType: "prompt", sessionId: SESSION_ID, atMs: now - 126 * MINUTE },
			],
		},
		get_command_history: {
			...{ enabled: true, initState: "ready", filters: { limit: 100 } },
			entries: [
				{
					...{ commandId: "c3", commandType: "prompt", sessionId: SESSION_ID, success: true },
					...{ atMs: now - 3 * MINUTE, finishedAtMs: now - 3 * MINUTE + 8_400 },
				},
				{
					...{ commandId: "c2", commandType: "set_model", sessionId: SESSION_ID, success: false },
					...{ atMs: now - 4 * MINUTE, finishedAtMs: now - 4 * MINUTE + 2 },
					...{ error: `there is no model ${HOSTILE}`, code: "not_found" },
				},
				{ commandId: "c1", commandType: "compact", sessionId: SESSION_ID, atMs: now - 5 * MINUTE },
			],
			returned: 3,
			truncated: false,
		},
	};
}

/** A server that stood still for a while in the middle. */
function historyOf(minutes: number, now: number): Data<"MetricsHistory"> {
	const size = Math.ceil(minutes / 240);
	const last = Math.floor(now / MINUTE / size);
	const count = Math.ceil(minutes / size);
	const points = Array.from({ length: count }, (_, at) => ({
		...{
			atMs: (last - count + 1 + at) * size * MINUTE,
			finished: 20 + (at % 7) * 9,
			failed: at % 5,
		},
		...{ events: 90, clients: 1 + (at % 3), sessions: 2, rssBytes: 2e8 + 1e5 * at },
		...{ heapUsedBytes: 8e7 + 3e6 * (at % 9), journalBytes: 5e6 + 1e4 * at },
		...(at % 11 > 0 && { latencyMs: { p50: 0.4 + (at % 4) / 10, p99: 520 + (at % 13) } }),
		...(at === Math.ceil(count * 0.6) && { started: true as const }),
	}));
	return {
		minutes: size,
		points: points.filter((_, at) => at < count * 0.5 || at >= count * 0.6),
	};
}

function usageAnswers(now: number): Answers {
	const dayAt = (daysAgo: number) =>
		new Date(now - daysAgo * 1440 * MINUTE).toISOString().slice(0, 10);
	const rows = (days: number) =>
		Array.from({ length: Math.min(days, 60) }, (_, at): Data<"UsageRow">[] =>
			["claude-opus-5", `haiku ${HOSTILE}`, "unknown-model"]
				.slice(0, 1 + (at % 3))
				.map((id, m) => ({
					...{ day: dayAt(at), agent: m === 0 ? "pi" : "claude-code", model: `anthropic/${id}` },
					project: at % 4 === 0 ? `/home/me/${HOSTILE}` : `/home/me/projects/app-${at % 3}`,
					...{ requests: 40 - at / 2, unpriced: m === 2 ? 3 : 0, misses: at % 4 },
					...{ read: 900_000, write: 80_000, input: 2_000, output: 30_000 },
					...(m < 2 && { dollars: 4.2 - at / 20, missDollars: (at % 4) * 0.11 }),
				})),
		).flat();
	const sums = (times: number): Data<"SavedSums"> => ({
		...{ requests: 31 * times, dollars: 4.2 * times, unpriced: times > 1 ? 2 : 0 },
		saved: {
			readCache: { tokens: 48_000 * times, dollars: 0.61 * times },
			birth: { tokens: 9_000 * times, dollars: 0.12 * times },
			pruning: { tokens: 22_000 * times, dollars: -0.05 * times },
		},
	});
	return {
		get_usage: ({ days }: Sent) => ({
			rows: rows(Number(days ?? 60)),
			...{ truncated: days === undefined, files: 120, failed: 1 },
			unpricedModels: ["anthropic/unknown-model"],
		}),
		get_saved: ({ days }: Sent) => ({
			...{ today: sums(1), all: sums(40), budget: 5 },
			days: Array.from({ length: Math.min(Number(days), 20) }, (_, at) => ({
				day: dayAt(at),
				...sums(1),
			})).reverse(),
		}),
	};
}

/** The number of the conversation that has a report. */
export const CONVERSATION = 2;

function trafficAnswers(now: number): Answers {
	const requests = Array.from({ length: 36 }, (_, at): Data<"TrafficRequest"> => {
		const { cost, atMs, model, read, write, input, output, miss } = requestAt(at, now);
		return {
			...{ id: at + 5, atMs, model, read, write, input, output, cost },
			step: at === 0 ? "start" : at === 27 ? "edit" : "next",
			...(at === 27 && { changed: `tool ${HOSTILE}`, providerReason: "tools_changed" }),
			...(at === 30 && { problem: `cut ${HOSTILE}` }),
			...(miss && { miss }),
		};
	});
	const sum = (name: "read" | "write" | "input" | "output") =>
		requests.reduce((total, request) => total + request[name], 0);
	const main: Data<"TrafficConversation"> = {
		...{ id: CONVERSATION, agent: "claude-code", isSubagent: false, model: `opus ${HOSTILE}` },
		...{ startedMs: now - 36 * MINUTE, usedMs: now - MINUTE, requests: 136, context: 47_500 },
		...{ read: sum("read"), write: sum("write"), input: sum("input"), output: sum("output") },
		...{ cost: { tokens: 190_000, dollars: 1.84 }, unpriced: 0, misses: 2, missDollars: 0.27 },
		...(requests[27]?.miss && { lastMiss: requests[27].miss }),
	};
	const small = { requests: 1, read: 0, write: 900, input: 40, output: 12, context: 940 };
	const quiet = { misses: 0, missDollars: 0, cost: { tokens: 1_100, dollars: 0.004 } };
	const { lastMiss: _, ...fine } = main;
	return {
		list_conversations: {
			conversations: [
				main,
				{ ...fine, ...small, ...quiet, id: 3, isSubagent: true, parent: 2, model: "haiku" },
				{ ...fine, ...small, ...quiet, id: 1, parent: 2, usedMs: now - 30 * MINUTE },
				{
					...{ ...fine, ...small, ...quiet, id: 4, agent: "codex", model: "unknown-model" },
					...{ usedMs: now - 700 * MINUTE, cost: { tokens: 1_100 }, unpriced: 1 },
				},
			],
			truncated: true,
		},
		get_conversation: {
			conversation: main,
			requests,
			window: {
				byTool: {
					parts: [
						["results of Read", 0.46],
						["tools", 0.21],
						[`results of ${HOSTILE}`, 0.17],
						["system prompt", 0.09],
						["user", 0.004],
					].map(([name, share]) => part(String(name), Number(share))),
					more: 0,
				},
				byFile: {
					parts: Array.from({ length: 14 }, (_, at) =>
						part(
							`/home/me/project/src/store/${at === 3 ? HOSTILE : `file-${at}`}.ts`,
							0.2 / (at + 1),
						),
					),
					more: 9,
				},
			},
		},
	};
}

function part(name: string, share: number) {
	return { name, share, tokens: Math.round(share * 47_500) };
}

const POLICIES = [
	["billed", "what the provider charged", 81_000],
	["append-only", "pi as it is: nothing is ever changed", 100_000],
	["no-cache", "every request in full", 640_000],
	["read-cache", "repeated reads become markers", 88_000],
	["prune-each", "old results go at once", 131_000],
	["strata", "read cache, and old tool results go when that pays or is free", 71_000],
] as const;

/** The report that is answered to every replay. */
export const REPORT: Data<"ReplayReport"> = {
	...{ file: "content", requests: 57, skipped: 1 },
	skippedBy: { damaged: 1, tooLong: 0, relinked: 0, surplus: 0, requests: 0 },
	savedAlready: { shortReads: 3, edits: 1 },
	models: [
		{
			...{ name: "anthropic/claude", requests: 57, readRatio: 0.1, writeRatio: 1.25 },
			because: "Its list prices say so.",
		},
	],
	policies: POLICIES.map(([name, description, cost]) => ({
		...{ name, description, cost, ratio: cost / 100_000, dollars: cost * 3e-6 },
		...{ read: 600_000, write: 60_000, input: 1_000, maxContext: 61_000 },
	})),
	misses: [
		{ request: 20, atMs: 0, tokens: 31_000, cost: 35_650, cause: "expired", session: "0198-4f2a" },
		{
			...{ request: 4, atMs: 0, tokens: 9_000, cost: 10_350, cause: "tools", changed: HOSTILE },
			...{ providerReason: "tools_changed", session: "0198-4f2a", subagent: HOSTILE },
		},
	],
	sessions: [
		{ session: "0198-4f2a", requests: 50, cost: 70_000, misses: 1 },
		{ session: "0198-4f2a", subagent: HOSTILE, requests: 7, cost: 11_000, misses: 1 },
	],
	duplicateReads: [{ path: `src/${HOSTILE}.ts`, times: 5, tokens: 21_000, cost: 24_000 }],
	check: {
		...{ simulated: 80_400, billed: 84_000, deviation: -0.043 },
		differences: [{ reason: "provider", cost: -3_600, requests: 2 }],
		reasons: ["3.1 % of the bill: 2 requests missed the cache without a documented cause."],
	},
	chart: [
		["append-only", 1_100],
		["strata", 640],
	].map(([name, step]) => ({
		name: String(name),
		points: Array.from({ length: 50 }, (_, at) => {
			return { input: 20, read: 6_000 + Number(step) * at, write: 1_200, writeOneHour: 0 };
		}),
	})),
};
