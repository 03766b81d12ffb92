import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const LEAVES = ["text", "core"];
/** What a system may import, besides the system that it sits on. */
const SYSTEM = [...LEAVES, "session", "economy"];

/** Which folders of src/ a folder may import. The three composition roots may import every door. */
const MAY_IMPORT: Record<string, string[] | "everything"> = {
	text: [],
	core: ["text"],
	economy: [...LEAVES, "wire"],
	session: [...LEAVES, "economy"],
	tiers: [...LEAVES, "economy"],
	readcache: SYSTEM,
	paging: SYSTEM,
	codeindex: LEAVES,
	pruning: SYSTEM,
	birth: SYSTEM,
	clearing: [...SYSTEM, "wire"],
	workset: [...SYSTEM, "tiers"],
	code: [...SYSTEM, "codeindex"],
	cost: [...SYSTEM, "pruning", "protocol"],
	wire: LEAVES,
	importers: [...LEAVES, "wire", "economy"],
	proxy: [...LEAVES, "wire"],
	traffic: [...LEAVES, "economy", "wire"],
	mcp: [...LEAVES, "code", "paging"],
	acp: [...LEAVES, "protocol"],
	savings: [...LEAVES, "wire", "birth"],
	hook: [...LEAVES, "birth", "importers"],
	usage: [...LEAVES, "wire", "economy", "importers"],
	setup: LEAVES,
	protocol: ["text"],
	dashboard: ["text", "protocol"],
	extension: "everything",
	cli: "everything",
	server: "everything",
	library: "everything",
};
const KNOWS_PI = new Set(["session", "extension", "cli", "server"]);
const PI_PACKAGE = /^@(earendil-works|mariozechner)\//;

/** The leaves are many nouns; the CLI and the dashboard are programs; the library is doors. */
const DOORLESS = new Set(["core", "text", "cli", "dashboard", "library"]);

/**
 * The doors of the package. They take names from where these are defined: a folder's own door is for
 * other folders of ours, and promises nothing to users.
 */
const PUBLIC_DOOR = /^src\/library\/\w+\.ts$/;

/** What a folder offers apart from its index, where taking all of that would be too much. */
const SECOND_DOORS = new Set([
	"src/protocol/client.ts",
	// Rules of caching and prices alone: a session needs them at its start, and nothing else of the economy.
	"src/economy/rules.ts",
	// Names and schemas of the tools: a server lists them without loading the index.
	"src/code/tool-definitions.ts",
	// Whether a rewrite pays: functions over sizes and prices, for pruning in sessions and in replay.
	"src/economy/rewrite-plan.ts",
	// When clearing pays, with simulated bills: for the system in sessions, and for conversations in the book.
	"src/economy/clearing.ts",
	// Replays are loaded by `strata replay` and by the server's worker only.
	"src/economy/replay/index.ts",
	"src/server/journal/postgres/index.ts",
	// Where proxy and traffic meet; neither needs the other's code for it.
	"src/wire/exchange.ts",
	// Results with their texts, for the one folder that rewrites requests.
	"src/wire/results.ts",
	// The engine, and the hash of a message: a hook starts with every call of a tool, and loads little.
	"src/birth/engine.ts",
	"src/importers/message-hash.ts",
	// Whether a call names an excluded file, for the same.
	"src/readcache/file-touch.ts",
	// Differences of two texts: what setup would change in a file.
	"src/readcache/diff/unified.ts",
	// The sample project of the demo, which needs no session.
	"src/server/demo/sample-projects.ts",
	// The book of all sessions: pi's extension adds to it, and loads nothing else of usage.
	"src/usage/saved-book.ts",
	// Sums of all session files of this machine, in one call: the server's worker needs no texts.
	"src/usage/known-usage.ts",
	// How `read` finds a file: functions over paths, without a session.
	"src/session/read-path.ts",
]);

/** A system's part in a session. Only composition roots put sessions together. */
const SYSTEM_DOOR = /^src\/\w+\/system\.ts$/;

/** Doors with more names than a reader takes in at a glance, each with the reason. */
const WIDE_DOORS: Record<string, string> = {
	"src/session/index.ts": "the vocabulary of all systems: most of it types",
};
const MAX_NAMES = 15;

const root = fileURLToPath(new URL("..", import.meta.url));
const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((file) =>
	file.replaceAll("\\", "/"),
);
const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));

describe("the architecture", () => {
	test("every import follows the direction of imports, the doors and the rule about pi", () => {
		const faults = [...sources].flatMap(([file, source]) => faultsOf(file, source));
		expect(faults).toEqual([]);
		expect(files.length).toBeGreaterThan(10);
	});

	test("every folder of src/ is one the layout knows, and has a door unless nobody imports it as a whole", () => {
		const folders = new Set(files.map(folderOf));
		for (const folder of folders) {
			expect(Object.keys(MAY_IMPORT)).toContain(folder);
			if (!DOORLESS.has(folder)) expect(files).toContain(`src/${folder}/index.ts`);
		}
	});

	test("only the session listens to pi's events", () => {
		const listening = [...sources].filter(([, source]) => listensToPi(source));
		expect(listening.map(([file]) => file)).toEqual(["src/session/session.ts"]);
	});

	test("no file takes out a safeguard, and no variable of the environment does", () => {
		const other = [...sources].filter(([file]) => file !== "src/server/safeguards.ts");
		const calls = other.filter(([, source]) => source.includes("takeOut"));
		expect(calls.map(([file]) => file)).toEqual([]);
		expect(sources.get("src/server/safeguards.ts")).not.toMatch(/^import|process|\benv\b/m);
	});

	test("no file imports itself by a detour; types within one folder may", () => {
		const edges = new Map(
			[...sources].map(([file, source]) => [
				file,
				importsOf(source).flatMap(({ target, isType }) => {
					const other = resolved(file, target);
					return isType && dirname(other) === dirname(file) ? [] : [other];
				}),
			]),
		);
		expect(cyclesIn(edges)).toEqual([]);
	});

	test("the package exports the doors of src/library, and nothing else", () => {
		const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
		const doors = files.filter((file) => folderOf(file) === "library");
		expect(doors.filter((file) => !PUBLIC_DOOR.test(file))).toEqual([]);
		const expected = doors.map((file) => {
			const name = basename(file, ".ts");
			const built = `./dist/library/${name}`;
			const door = { types: `${built}.d.ts`, default: `${built}.js` };
			return [name === "extension" ? "." : `./${name}`, door];
		});
		expect(exports).toEqual({
			...Object.fromEntries(expected),
			"./package.json": "./package.json",
		});
	});

	test("a door has few names, or is on the list of those that have a reason", () => {
		const doors = files.filter(
			(file) => /^src\/\w+\/index\.ts$/.test(file) || PUBLIC_DOOR.test(file),
		);
		const wide = doors.filter((door) => namesIn(sources.get(door) ?? "").length > MAX_NAMES);
		expect(wide.sort()).toEqual(Object.keys(WIDE_DOORS).sort());
	});
});

describe("the checker itself", () => {
	test.each([
		["src/core/a.ts", 'import { x } from "../session/index.ts";', "core may not import session"],
		["src/core/a.ts", 'export * from "../session/index.ts";', "core may not import session"],
		["src/core/a.ts", 'import "../session/index.ts";', "core may not import session"],
		[
			"src/core/a.ts",
			'const x = await import("../session/index.ts");',
			"core may not import session",
		],
		["src/core/a.ts", 'type X = import("../session/index.ts").X;', "core may not import session"],
		[
			"src/paging/a.ts",
			'import { x } from "../readcache/index.ts";',
			"paging may not import readcache",
		],
		[
			"src/paging/sources/a.ts",
			'import { x } from "../../tiers/index.ts";',
			"paging may not import tiers",
		],
		[
			"src/cli/a.ts",
			'import {\n\tx,\n} from "../readcache/diff.ts";',
			"past the door of readcache",
		],
		[
			"src/workset/a.ts",
			'import { x } from "../tiers/system.ts";',
			"only a composition root composes",
		],
		[
			"src/economy/a.ts",
			'import { x } from "../session/index.ts";',
			"economy may not import session",
		],
		[
			"src/readcache/a.ts",
			'import type { X } from "@earendil-works/pi-ai";',
			"readcache may not import pi",
		],
		[
			"src/dashboard/a.tsx",
			'import { x } from "../core/hash.ts";',
			"dashboard may not import core",
		],
		["src/core/a.ts", 'import { x } from "../../test/support/temp.ts";', "leaves src"],
		[
			"src/cli/a.ts",
			'import { x } from "../library/client.ts";',
			"no folder may import the library",
		],
		[
			"src/library/a.ts",
			'import { x } from "../paging/system.ts";',
			"the library composes no session",
		],
	])("finds the fault in %s: %s", (file, source, fault) => {
		expect(faultsOf(file, source).join()).toContain(fault);
	});

	test.each([
		["src/readcache/a.ts", 'import { x } from "../core/hash.ts"; import { y } from "./b.ts";'],
		[
			"src/extension/a.ts",
			'import { x } from "../paging/system.ts"; import { y } from "@earendil-works/pi-ai";',
		],
		["src/economy/system.ts", 'import type { System } from "../session/index.ts";'],
		["src/session/a.ts", 'import type { X } from "@earendil-works/pi-coding-agent";'],
		["src/library/a.ts", 'export { x } from "../tiers/item.ts";'],
		["src/core/a.ts", '// see "../session/index.ts"\nimport { x } from "node:fs";'],
	])("is content with %s: %s", (file, source) => {
		expect(faultsOf(file, source)).toEqual([]);
	});

	test("sees who listens, in which circle files stand, and what a door names", () => {
		expect(listensToPi('pi.on("turn_end", () => {});')).toBe(true);
		expect(listensToPi('socket.on("message", () => {});')).toBe(false);
		const edges = new Map([
			["a", ["b"]],
			["b", ["c", "d"]],
			["c", ["a"]],
			["d", []],
		]);
		expect(cyclesIn(edges)).toEqual([["a", "b", "c"]]);
		expect(namesIn('export { a, type B } from "./x.ts";\nexport const c = 1;')).toHaveLength(3);
		const [kept, typed] = importsOf(
			'import { type A, b } from "./x.ts";import type { C } from "./y.ts";',
		);
		expect([kept?.isType, typed?.isType]).toEqual([false, true]);
	});
});

function faultsOf(file: string, source: string): string[] {
	const folder = folderOf(file);
	return importsOf(source).flatMap(({ target }) => {
		if (PI_PACKAGE.test(target)) {
			return KNOWS_PI.has(folder) ? [] : [`${file}: ${folder} may not import pi (${target})`];
		}
		if (!target.startsWith(".")) return [];
		const path = resolved(file, target);
		if (!path.startsWith("src/")) return [`${file}: ${target} leaves src`];
		const other = folderOf(path);
		if (other === folder) return [];
		if (other === "library") return [`${file}: no folder may import the library (${target})`];
		const allowed = MAY_IMPORT[folder] ?? [];
		// Even the economy, which sessions import, has a part in them.
		const isSystem = SYSTEM_DOOR.test(file) && other === "session";
		if (allowed !== "everything" && !allowed.includes(other) && !isSystem) {
			return [`${file}: ${folder} may not import ${other} (${target})`];
		}
		if (PUBLIC_DOOR.test(file)) {
			return SYSTEM_DOOR.test(path) ? [`${file}: the library composes no session (${target})`] : [];
		}
		if (SYSTEM_DOOR.test(path)) {
			return allowed === "everything" ? [] : [`${file}: only a composition root composes ${path}`];
		}
		// The leaves have no door: each of their files is one noun, imported by name.
		const isDoor = path === `src/${other}/index.ts` || SECOND_DOORS.has(path);
		return LEAVES.includes(other) || isDoor
			? []
			: [`${file}: ${target} goes past the door of ${other}`];
	});
}

function folderOf(file: string): string {
	return file.split("/")[1] ?? "";
}

function resolved(file: string, target: string): string {
	return target.startsWith(".")
		? relative(".", join(dirname(file), target)).replaceAll("\\", "/")
		: target;
}

function importsOf(source: string): { target: string; isType: boolean }[] {
	const code = source.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
	const statement = /\b(?:import|export)\b([^;'"]*?)\bfrom\s*["']([^"']+)["']/g;
	const bare = /\bimport\s*\(?\s*["']([^"']+)["']/g;
	const named = [...code.matchAll(statement)].map(([, clause = "", target = ""]) => {
		const names = /\{([^}]*)\}/
			.exec(clause)?.[1]
			?.split(",")
			.filter((name) => name.trim() !== "");
		const isType =
			/^\s*type\b/.test(clause) || names?.every((name) => /^\s*type /.test(name)) === true;
		return { target, isType };
	});
	return [
		...named,
		...[...code.matchAll(bare)].map(([, target = ""]) => ({ target, isType: false })),
	];
}

/** Whether a source subscribes to events of pi: their names have an underscore, or are those of a run. */
function listensToPi(source: string): boolean {
	return /\bon\(\s*"(?:[a-z]+_[a-z_]+|input|context)"/.test(source);
}

function namesIn(door: string): string[] {
	const lists = [...door.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
		names.split(",").filter((name) => name.trim() !== ""),
	);
	const own = door.match(/^export (?:async function|function|const|class|interface|type \w)/gm);
	return [...lists, ...(own ?? [])];
}

/** The groups of files that reach each other, by Tarjan's algorithm. */
function cyclesIn(edges: ReadonlyMap<string, readonly string[]>): string[][] {
	const order = new Map<string, number>();
	const low = new Map<string, number>();
	const stack: string[] = [];
	const cycles: string[][] = [];
	const visit = (file: string) => {
		order.set(file, order.size);
		low.set(file, order.get(file) ?? 0);
		stack.push(file);
		for (const next of edges.get(file) ?? []) {
			if (!edges.has(next)) continue;
			if (!order.has(next)) visit(next);
			if (stack.includes(next)) low.set(file, Math.min(low.get(file) ?? 0, low.get(next) ?? 0));
		}
		if (low.get(file) !== order.get(file)) return;
		const group = stack.splice(stack.indexOf(file));
		if (group.length > 1) cycles.push(group.sort());
	};
	for (const file of edges.keys()) if (!order.has(file)) visit(file);
	return cycles;
}
