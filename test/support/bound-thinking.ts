/**
 * The vendor's check on models that bind thinking: a block is valid only while system prompt, tools and every message
 * before it are what was sent when it was made. Works on normalised prompts, so that every stand-in for a provider runs
 * the same check.
 */
import { createHash } from "node:crypto";

/** A request as the check sees it. */
export interface BoundPrompt {
	/** System prompt and tools. */
	head: unknown;
	messages: readonly BoundMessage[];
}

export interface BoundMessage {
	/** The message without its thinking, without cache markers, in one form only. */
	rest: unknown;
	/** Signatures of its thinking blocks. */
	signatures: readonly string[];
}

/** A thinking block that does not stand behind what it was made behind. */
export interface Misplaced {
	signature: string;
	/** Its place among the messages. */
	message: number;
	/** The first message that differs; -1 for system prompt and tools. `undefined`: thinking is missing in the middle. */
	changed: number | undefined;
}

export interface ThinkingBinding {
	/** A signature for thinking in the answer to this request: the given one, or one of its own. */
	sign(prompt: BoundPrompt, signature?: string): string;
	/**
	 * All blocks that are not valid, in order. The vendor refuses the request for the first, or drops that and all behind
	 * it, valid or not.
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
					if (!then) return []; // not ours to judge
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

/** A chain: the hash at a place stands for everything up to it. The first is the head's. */
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

/** Thinking may be taken away from the start of the history. */
function isEndOf(all: readonly string[], part: readonly string[]): boolean {
	if (part.length > all.length) return false;
	const skipped = all.length - part.length;
	return part.every((one, at) => one === all[skipped + at]);
}
