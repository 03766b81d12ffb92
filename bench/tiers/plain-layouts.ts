/** Obvious layouts of a working set, as requests of a generated session. */

import type { Block, ModelRequest } from "../../src/economy/index.ts";
import { placeBreakpoints } from "../../src/economy/place-breakpoints.ts";
import type { CacheRules } from "../../src/economy/rules.ts";
import { MAP_FILES, type Message, type ShownFile, type WorkRequest } from "./workload.ts";

/** Makes the requests of a session. */
export type Layout = (session: readonly WorkRequest[], rules: CacheRules) => Iterable<ModelRequest>;

export const SYSTEM_TOKENS = 3000;
export const SYMBOL_TOKENS = 50;

/** System prompt and the map of all files: the head of every layout but the tiers. */
export const HEAD: readonly Block[] = [
	{ part: "system", hash: "system", tokens: SYSTEM_TOKENS, label: "system prompt" },
	{ part: "system", hash: "map", tokens: MAP_FILES * SYMBOL_TOKENS, label: "map" },
];

/** Everything once, without a breakpoint. */
export const noCache: Layout = function* (session) {
	for (const request of fixedOrderRequests(session)) yield { ...request, breakpoints: [] };
};

/** Files in the order of their paths, then the conversation. A changed file makes everything behind it new. */
export const fixedOrder: Layout = function* (session, rules) {
	for (const { atMs, blocks, files } of fixedOrderRequests(session)) {
		const frontier = HEAD.length + files - 1;
		yield { atMs, blocks, breakpoints: placeBreakpoints({ blocks, rules, frontier }) };
	}
};

/** The first text of every file before the conversation, each later one behind it. Nothing is ever removed. */
export const appendAndReread: Layout = function* (session, rules) {
	const blocks = [...HEAD];
	const latest = new Map<string, string>();
	for (const { atMs, files, added } of session) {
		const fresh = files.filter(({ path, hash }) => latest.get(path) !== hash).map(fileBlock);
		for (const { path, hash } of files) latest.set(path, hash);
		const isFirst = blocks.length === HEAD.length;
		if (isFirst) blocks.push(...fresh, ...added.map(messageBlock));
		else blocks.push(...added.map(messageBlock), ...fresh);
		yield { atMs, blocks: [...blocks], breakpoints: placeBreakpoints({ blocks, rules }) };
	}
};

export function fileBlock({ path, hash, tokens }: ShownFile): Block {
	return { part: "messages", hash, tokens, label: path };
}

export function messageBlock({ id, tokens, role }: Message): Block {
	return { part: "messages", hash: id, tokens, label: role };
}

function* fixedOrderRequests(session: readonly WorkRequest[]) {
	const conversation: Block[] = [];
	for (const { atMs, files, added } of session) {
		conversation.push(...added.map(messageBlock));
		const blocks = [...HEAD, ...files.map(fileBlock), ...conversation];
		yield { atMs, blocks, files: files.length };
	}
}
