import { rulesFor } from "../../../src/economy/rules.ts";
import type { Copy, LogMoment, WorkingFile } from "../../../src/workset/log/layout.ts";

/** A warm session in a large window, with nothing in view. */
export function momentWith(part: Partial<LogMoment>): LogMoment {
	return {
		files: [],
		copies: [],
		rules: rulesFor({ provider: "anthropic", id: "claude-sonnet-5" }, { readRatio: 0.1 }),
		isBound: false,
		cold: false,
		contextTokens: 50_000,
		contextWindow: 1_000_000,
		...part,
	};
}

/** A working file of 1000 tokens: `a@1` is the first version of `a`. */
export function file(version: string, part: Partial<WorkingFile> = {}): WorkingFile {
	const [path = ""] = version.split("@");
	return { path, hash: version, tokens: 1000, tier: "active", n: 0, ...part };
}

/** The slot with these versions in it. */
export function slot(versions: readonly string[], tokensBehind = 10_000): Copy {
	const files = versions.map((version) => file(version));
	return { entryId: "slot", kind: "slot", files, tokensBehind };
}

/** A snapshot of a version. */
export function snapshot(version: string, tokensBehind: number): Copy {
	return { entryId: `of ${version}`, kind: "snapshot", files: [file(version)], tokensBehind };
}
