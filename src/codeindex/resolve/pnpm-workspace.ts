/**
 * The `packages` of a `pnpm-workspace.yaml`: a list of texts, one to a line or in brackets. More of YAML than that is
 * not read, as nothing else in the file says where packages are.
 */
export function pnpmWorkspacePatterns(text: string): string[] {
	const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
	const start = lines.findIndex((line) => /^(packages|"packages"|'packages')\s*:/.test(line));
	if (start < 0) return [];
	const inline = (lines[start] ?? "").slice((lines[start] ?? "").indexOf(":") + 1).trim();
	if (inline.startsWith("[")) return bracketed([inline, ...lines.slice(start + 1)].join("\n"));
	const patterns: string[] = [];
	for (const line of lines.slice(start + 1)) {
		const item = /^\s*-\s+(.*)$/.exec(line)?.[1];
		if (item !== undefined) patterns.push(...[scalar(item)].filter((found) => found !== ""));
		else if (/^\s*(#.*)?$/.test(line)) continue;
		else break;
	}
	return patterns;
}

function bracketed(text: string): string[] {
	const end = text.indexOf("]");
	const items = text.slice(1, end < 0 ? undefined : end).split(/,|\n/);
	return items.map((item) => scalar(item)).filter((item) => item !== "");
}

/** A text in quotes, or up to a comment. */
function scalar(item: string): string {
	const [, double, single] = /^\s*(?:"([^"]*)"|'([^']*)')/.exec(item) ?? [];
	return double ?? single ?? item.replace(/(?:^|\s)#.*$/, "").trim();
}
