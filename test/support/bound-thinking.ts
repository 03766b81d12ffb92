/**
 * The vendor's check on models that bind thinking: a block is valid only while system prompt, tools and every message
 * before it are unchanged since it was made. Works on normalised prompts, so that every fake provider runs the same
 * check.
 */
import { createHash } from "node:crypto";

/** A request as the check sees it. */
export interface BoundPrompt {
	/** System prompt and tools. */
	head: unknown;
	messages: readonly BoundMessage[];
}

export interface BoundMessage {
	/** The message without its thinking, without cache breakpoints, in one canonical form. */
	rest: unknown;
	/** Signatures of its thinking blocks. */
	signatures: readonly string[];
}

/** A thinking block whose prefix differs from the one it was made for. */
export interface Misplaced {
	signature: string;
	/** The index of its message. */
	message: number;
	/** The first message that differs; -1 for system prompt and tools. `undefined`: thinking is missing in the middle. */
	changed: number | undefined;
}

export interface ThinkingBinding {
	/** A signature for thinking in the answer to this request: the given one, or one of its own. */
	sign(prompt: BoundPrompt, signature?: string): string;
	/**
	 * All invalid blocks, in order. The vendor refuses the request for the first, or drops it and all blocks after it, valid
	 * or not.
	 */
	misplacedIn(prompt: BoundPrompt): Misplaced[];
}

export function createThinkingBinding(): ThinkingBinding {
	const made = new Map<string, { hashes: string[]; before: readonly string[] }>();
	return {
		sign(prompt, signature = `bound-${made.size + 1}`) {
			const hashes = hashesOf(prompt);
			made.set(signature, { hashes, before: prompt.messages.flatMap((one) => one.signatures) });
			return signature;
		},
		misplacedIn(prompt) {
			const hashes = hashesOf(prompt);
			const before: string[] = [];
			return prompt.messages.flatMap(({ signatures }, message) => {
				const misplaced = signatures.flatMap((signature): Misplaced[] => {
					const then = made.get(signature);
					if (!then) return []; // not a signature of this provider
					const changed = then.hashes.findIndex((hash, at) => hash !== hashes[at]);
					if (changed >= 0) return [{ signature, message, changed: changed - 1 }];
					const isMoved = then.hashes.length !== message + 1;
					if (!isMoved && isEndOf(then.before, before)) return [];
					return [{ signature, message, changed: undefined }];
				});
				before.push(...signatures);
				return misplaced;
			});
		},
	};
}

/** A hash chain: each hash covers everything up to its index. The first is the head's. */
function hashesOf({ head, messages }: BoundPrompt): string[] {
	let last = hashOf("", head);
	return [
		last,
		...messages.map(({ rest }) => {
			last = hashOf(last, rest);
			return last;
		}),
	];
}

function hashOf(before: string, value: unknown): string {
	return createHash("sha256")
		.update(before)
		.update(JSON.stringify(value) ?? "")
		.digest("hex");
}

/** Thinking may be removed from the start of the conversation. */
function isEndOf(all: readonly string[], part: readonly string[]): boolean {
	if (part.length > all.length) return false;
	const skipped = all.length - part.length;
	return part.every((one, at) => one === all[skipped + at]);
}
