import { hashBytes } from "../core/hash.ts";
import type { Block, ModelRequest } from "../economy/index.ts";
import type { ReplayPolicy, SessionBlock, Step } from "../economy/replay/index.ts";
import { type ControllerOptions, TierController } from "./controller.ts";
import { CACHED_TIERS, type Item, type TrackedItem } from "./item.ts";

/**
 * Builds requests in the literal tier layout, with the same controller as live. Text from `read` counts
 * as a working file while its result is in the conversation; different text for that file is a change.
 * Other blocks are history; the last block is the prompt. Session files contain no symbol map.
 */
export function tiersPolicy(settings: Omit<ControllerOptions, "state"> = {}): ReplayPolicy {
	return {
		name: "tiers",
		description:
			"every file read and the history are in literal tiers, for comparison; this is not what a working set costs",
		*requests(session) {
			const controller = new TierController(settings);
			for (const step of session.steps()) {
				const content = contentOf(step.blocks);
				controller.next({ ...content, symbols: [] });
				yield requestInTiers(step, content, controller.items());
			}
		},
	};
}

/** Tokens that a result keeps in the conversation after its text became a file. */
const LIFTED_TOKENS = 20;

function contentOf(blocks: readonly SessionBlock[]) {
	const head = blocks.filter(({ part }) => part !== "messages");
	const parts = new Map<string, Map<string, SessionBlock>>();
	const talk = blocks.filter(({ part }) => part === "messages").map(lifted);
	const files = Array.from(parts, ([path, windows]) => fileItem(path, [...windows.values()]));
	const history = talk.slice(0, -1).map(({ id, hash, tokens }) => {
		return { key: `entry ${id}`, hash, tokens };
	});
	return { head, files, history, prompt: talk.slice(-1) };

	function lifted(block: SessionBlock): SessionBlock {
		const read = block.result?.read;
		if (!read || block.tokens <= LIFTED_TOKENS) return block;
		const windows = parts.get(read.path) ?? new Map<string, SessionBlock>();
		parts.set(read.path, windows.set(read.window, block));
		return { ...block, hash: `${block.hash} lifted`, tokens: LIFTED_TOKENS };
	}
}

function fileItem(path: string, parts: readonly SessionBlock[]): Item {
	const hash = hashBytes(parts.map((part) => part.hash).join("\n"));
	return { key: path, hash, tokens: tokensOf(parts) - LIFTED_TOKENS * parts.length };
}

/** L0 is part of the system prompt. Active content is uncached. */
function requestInTiers(
	step: Step,
	{ files, history, head, prompt }: ReturnType<typeof contentOf>,
	items: ReadonlyMap<string, TrackedItem>,
): ModelRequest {
	const placed = Map.groupBy([...files, ...history], ({ key }) => items.get(key)?.tier ?? "active");
	const blocks: Block[] = [...head];
	const breakpoints: ModelRequest["breakpoints"][number][] = [];
	for (const tier of CACHED_TIERS) {
		const held = placed.get(tier) ?? [];
		const part = tier === "L0" ? "system" : "messages";
		if (held.length > 0) blocks.push(tierBlock(tier, part, held));
		const isCached = held.length > 0 || (tier === "L0" && head.length > 0);
		if (isCached) breakpoints.push({ after: blocks.length - 1, ttl: step.ttl });
	}
	for (const { key, hash, tokens } of placed.get("active") ?? []) {
		blocks.push({ part: "messages", hash, tokens, label: key });
	}
	blocks.push(...prompt);
	return { atMs: step.atMs, blocks, breakpoints, settings: step.settings };
}

function tierBlock(label: string, part: Block["part"], items: readonly Item[]): Block {
	const hash = hashBytes(items.map(({ key, hash }) => `${key}\0${hash}`).join("\n"));
	return { part, label, hash, tokens: tokensOf(items) };
}

function tokensOf(pieces: readonly { readonly tokens: number }[]): number {
	return pieces.reduce((sum, { tokens }) => sum + tokens, 0);
}
