import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A document of the project. */
export interface Document {
	/** From the project's folder, with slashes. */
	path: string;
	text: string;
	/** The text without its code, which may look like anything. */
	prose: string;
	blocks: CodeBlock[];
	/** What stands between single backticks. */
	codeWords: string[];
	links: Link[];
}

/** A block between three backticks. */
export interface CodeBlock {
	/** The word behind the backticks; empty when there is none. */
	language: string;
	text: string;
}

/** A link or a picture, not to another site. */
export interface Link {
	text: string;
	/** From the project's folder, without its anchor; the document itself for a bare anchor. */
	path: string;
	anchor?: string;
	title?: string;
}

/** The document at a path from the project's folder. */
export function documentAt(path: string): Document {
	const text = readFileSync(join(root, path), "utf8");
	const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => ({
		language: match[1] ?? "",
		text: match[2] ?? "",
	}));
	const withoutBlocks = text.replaceAll(/^```.*?^```$/gms, "");
	const prose = withoutBlocks.replaceAll(/`[^`\n]+`/g, "``");
	return {
		path,
		text,
		prose,
		blocks,
		codeWords: [...withoutBlocks.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? ""),
		links: linksIn(prose, path),
	};
}

/** Every document that people are meant to read. */
export const documents: readonly Document[] = globSync(
	["*.md", "docs/**/*.md", "examples/**/*.md", "src/**/*.md"],
	{ cwd: root },
)
	.map((path) => documentAt(path.replaceAll("\\", "/")))
	.sort((a, b) => (a.path < b.path ? -1 : 1));

/** The name that GitHub gives to a heading. */
export function anchorsOf({ text }: Document): string[] {
	return [...text.matchAll(/^#{1,6} (.+)$/gm)].map((match) =>
		(match[1] ?? "")
			.toLowerCase()
			.replaceAll(/[^\p{L}\p{N} _-]/gu, "")
			.replaceAll(" ", "-"),
	);
}

function linksIn(prose: string, path: string): Link[] {
	const matches = prose.matchAll(/\[([^\]]*)\]\(([^)\s"]+)(?: "([^"]*)")?\)/g);
	return [...matches].flatMap(([, text = "", target = "", title]) => {
		if (/^[a-z]+:/.test(target)) return [];
		const [file = "", anchor] = target.split("#", 2);
		return [
			{
				text,
				path: file === "" ? path : join(dirname(path), file).replaceAll("\\", "/"),
				...(anchor && { anchor }),
				...(title && { title }),
			},
		];
	});
}
