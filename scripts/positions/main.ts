/**
 * Writes the fixtures of positions in `test/codeindex/languages/`, with a language's own tools.
 *
 * `node scripts/positions/main.ts go` needs `go` in the path; `node scripts/positions/main.ts python <langserver>` needs
 * the path of pyright's `langserver.index.js`.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { usagesOfAll } from "../../test/codeindex/languages/declarations.ts";
import { GO_PROJECT, PYTHON_PROJECT } from "../../test/codeindex/languages/projects.ts";
import { askPyright } from "./pyright.ts";

/** Places of all references, without the declaration, by the place of the declaration. */
type Positions = Readonly<Record<string, readonly string[]>>;

const [language, server] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "positions-"));
try {
	if (language === "go") {
		write("go", byGo("top"));
		write("go-members", byGo("member"));
	} else if (language === "python" && server) {
		write("python", await byPyright(server, false));
		write("python-members", await byPyright(server, true));
	} else
		throw new Error(
			"Usage: node scripts/positions/main.ts go | python <pyright's langserver.index.js>",
		);
} finally {
	rmSync(folder, { recursive: true });
}

function byGo(kind: "top" | "member"): Positions {
	writeProject(GO_PROJECT);
	const program = fileURLToPath(new URL("positions.go", import.meta.url));
	const text = execFileSync("go", ["run", program, folder, "example.com/shop"], {
		encoding: "utf8",
		env: { ...process.env, GO111MODULE: "off" },
	});
	const { symbols }: { symbols: Record<string, { refs: string[] | null }> } = JSON.parse(text);
	return Object.fromEntries(
		Object.entries(symbols)
			.filter(([place]) => place.endsWith(` ${kind}`))
			.map(([place, { refs }]) => [place.slice(0, -` ${kind}`.length), refs ?? []]),
	);
}

async function byPyright(path: string, ofMembers: boolean): Promise<Positions> {
	writeProject(PYTHON_PROJECT);
	writeFileSync(join(folder, "pyrightconfig.json"), '{ "extraPaths": ["src"] }');
	const all = await usagesOfAll(PYTHON_PROJECT);
	const chosen = all.filter(({ isMember }) => isMember === ofMembers);
	return await askPyright(
		path,
		folder,
		chosen.map(({ place }) => place),
	);
}

function writeProject(files: Readonly<Record<string, string>>): void {
	for (const [path, text] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), text);
	}
}

function write(name: string, positions: Positions): void {
	const sorted = Object.entries(positions).sort(([one], [other]) => (one < other ? -1 : 1));
	const lists = sorted.map(([place, all]) => [place, [...new Set(all)].sort()]);
	const out = new URL(`../../test/codeindex/languages/positions-${name}.json`, import.meta.url);
	writeFileSync(out, `${JSON.stringify(Object.fromEntries(lists), null, "\t")}\n`);
	console.log(`${lists.length} symbols in ${fileURLToPath(out)}`);
}
