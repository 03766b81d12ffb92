import { matchesPath, type PathPattern } from "./path-pattern.ts";

/** What one `.gitignore` says. Its rules are about paths below its own folder. */
export interface IgnoreRules {
	/**
	 * Whether the path, given by its names from the folder of the `.gitignore`, is ignored; `undefined` if
	 * no rule is about it. Folders above it are not looked at: whoever walks does not enter an ignored one.
	 */
	decide(names: readonly string[], isFolder: boolean): boolean | undefined;
}

/** Reads the text of a `.gitignore`, by git's rules: the last rule that matches decides. */
export function parseIgnoreRules(text: string): IgnoreRules {
	const rules = text
		.replace(/^\uFEFF/, "")
		.split(/\r?\n/)
		.flatMap((line) => parseRule(line) ?? []);
	rules.reverse();
	return {
		decide(names, isFolder) {
			for (const rule of rules) {
				if (rule.folderOnly && !isFolder) continue;
				if (matchesPath(rule.pattern, names)) return !rule.negated;
			}
			return undefined;
		},
	};
}

interface Rule {
	readonly pattern: PathPattern;
	readonly negated: boolean;
	readonly folderOnly: boolean;
}

/** A longer line is no honest pattern, and matching it costs. */
const maxLineLength = 1_000;

function parseRule(line: string): Rule | undefined {
	if (line.length > maxLineLength || line.startsWith("#")) return undefined;
	let pattern = withoutTrailingSpaces(line);
	const negated = pattern.startsWith("!");
	if (negated) pattern = pattern.slice(1);
	const folderOnly = pattern.endsWith("/");
	if (folderOnly) pattern = pattern.slice(0, -1);
	if (pattern === "") return undefined;
	// A slash at the start or in the middle ties the pattern to the folder of the file.
	const anchored = pattern.includes("/");
	const parts = (pattern.startsWith("/") ? pattern.slice(1) : pattern).split("/");
	// `**` is special only as a whole name; `a/**` is what lies below `a`, not `a` itself.
	if (parts.at(-1) === "**") parts.push("*");
	return { pattern: anchored ? parts : ["**", ...parts], negated, folderOnly };
}

/** Spaces at the end do not count, unless the first of them is written `\ `. */
function withoutTrailingSpaces(line: string): string {
	let end = line.length;
	while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
	return line.slice(0, end);
}
