import { getOrAdd } from "../core/get-or-add.ts";
import type { TracePiece } from "./trace.ts";

/** What one tool, file or kind of text takes of a prompt. */
export interface WindowShare {
	/** `tools`, `system prompt`, `user`, `answers`, `thinking`, `calls` or `results`. */
	readonly what: string;
	/** The tool and the file of calls and results, as far as requests name them. */
	readonly tool?: string;
	readonly path?: string;
	readonly pieces: number;
	readonly bytes: number;
	/** Of all bytes, from 0 to 1. */
	readonly share: number;
	/** The same share of the billed prompt. */
	readonly tokens: number;
}

const KINDS: Readonly<Record<TracePiece["kind"], string>> = {
	tool: "tools",
	system: "system prompt",
	user: "user",
	text: "answers",
	thinking: "thinking",
	call: "calls",
	result: "results",
};

/** What fills a prompt of `tokens` tokens, the largest part first. */
export function windowShares(pieces: readonly TracePiece[], tokens: number): WindowShare[] {
	const groups = new Map<string, { of: TracePiece; pieces: number; bytes: number }>();
	let total = 0;
	for (const piece of pieces) {
		const { kind, tool, path, bytes } = piece;
		// All tool definitions are one group: each is small, and there are many.
		const key = kind === "tool" ? kind : JSON.stringify([kind, tool, path]);
		const group = getOrAdd(groups, key, () => ({ of: piece, pieces: 0, bytes: 0 }));
		group.pieces++;
		group.bytes += bytes;
		total += bytes;
	}
	return [...groups.values()]
		.map(({ of: { kind, tool, path }, pieces, bytes }) => {
			const share = total > 0 ? bytes / total : 0;
			return {
				what: KINDS[kind],
				...(tool && kind !== "tool" && { tool }),
				...(path && { path }),
				...{ pieces, bytes, share, tokens: Math.round(share * tokens) },
			};
		})
		.sort((a, b) => b.bytes - a.bytes);
}

/** What a tool or kind of text, or a file, takes of a prompt. */
export type WindowPart = Pick<WindowShare, "share" | "tokens"> & { readonly name: string };

/** The shares by kind and tool, and by file, each with the largest first. */
export function windowParts(shares: readonly WindowShare[]) {
	return {
		byTool: summed(shares, ({ what, tool }) => (tool ? `${what} of ${tool}` : what)),
		byFile: summed(shares, ({ path }) => path),
	};
}

function summed(
	shares: readonly WindowShare[],
	nameOf: (share: WindowShare) => string | undefined,
): WindowPart[] {
	const sums = new Map<string, { share: number; tokens: number }>();
	for (const one of shares) {
		const name = nameOf(one);
		if (name === undefined) continue;
		const sum = getOrAdd(sums, name, () => ({ share: 0, tokens: 0 }));
		sum.share += one.share;
		sum.tokens += one.tokens;
	}
	return [...sums].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => b.share - a.share);
}
