import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** Which folders of src/ a folder may import. The three composition roots may import every door. */
const MAY_IMPORT: Record<string, string[] | "everything"> = {
	text: [],
	core: ["text"],
	session: ["text", "core"],
	economy: ["text", "core"],
	readcache: ["text", "core", "session", "economy"],
	paging: ["text", "core", "session", "economy"],
	codeindex: ["text", "core", "session", "economy"],
	pruning: ["text", "core", "session", "economy"],
	tiers: ["text", "core", "session", "economy"],
	code: ["text", "core", "session", "economy", "codeindex"],
	protocol: ["text"],
	dashboard: ["text", "protocol"],
	extension: "everything",
	cli: "everything",
	server: "everything",
};
const KNOWS_PI = new Set(["session", "extension", "cli", "server"]);
const PI_PACKAGE = /^@(earendil-works|mariozechner)\//;

const root = fileURLToPath(new URL("..", import.meta.url));
const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((file) =>
	file.replaceAll("\\", "/"),
);

describe("the architecture", () => {
	test("every import follows the direction of imports, the doors and the rule about pi", () => {
		const faults = files.flatMap((file) => faultsOf(file, readFileSync(join(root, file), "utf8")));
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
			"src/readcache/a.ts",
			'import type { X } from "@earendil-works/pi-ai";',
			"readcache may not import pi",
		],
		[
			"src/dashboard/a.tsx",
			'import { x } from "../core/hash.ts";',
			"dashboard may not import core",
		],
		["src/core/a.ts", 'import { x } from "support/temp.ts";', "leaves src"],
	])("finds the fault in %s: %s", (file, source, fault) => {
		expect(faultsOf(file, source).join()).toContain(fault);
	});

	test.each([
		["src/readcache/a.ts", 'import { x } from "../core/hash.ts"; import { y } from "./b.ts";'],
		[
			"src/extension/a.ts",
			'import { x } from "../paging/index.ts"; import { y } from "@earendil-works/pi-ai";',
		],
		["src/session/a.ts", 'import type { X } from "@earendil-works/pi-coding-agent";'],
		["src/core/a.ts", '// see "../session/index.ts"\nimport { x } from "node:fs";'],
	])("is content with %s: %s", (file, source) => {
		expect(faultsOf(file, source)).toEqual([]);
	});
});

/** Text and core are many nouns; the CLI and the dashboard are programs. */
const DOORLESS = new Set(["text", "core", "cli", "dashboard"]);

/** What a folder offers apart from its index, where taking all of that would be too much. */
const SECOND_DOORS = new Set(["src/protocol/client.ts"]);

function faultsOf(file: string, source: string): string[] {
	const folder = folderOf(file);
	return importsOf(source).flatMap((target) => {
		if (PI_PACKAGE.test(target)) {
			return KNOWS_PI.has(folder) ? [] : [`${file}: ${folder} may not import pi (${target})`];
		}
		if (!target.startsWith(".")) return [];
		const resolved = relative(".", join(dirname(file), target)).replaceAll("\\", "/");
		if (!resolved.startsWith("src/")) return [`${file}: ${target} leaves src`];
		const other = folderOf(resolved);
		if (other === folder) return [];
		const allowed = MAY_IMPORT[folder] ?? [];
		if (allowed !== "everything" && !allowed.includes(other)) {
			return [`${file}: ${folder} may not import ${other} (${target})`];
		}
		// The leaves have no door: each of their files is one noun, imported by name.
		if (
			!["text", "core"].includes(other) &&
			resolved !== `src/${other}/index.ts` &&
			!SECOND_DOORS.has(resolved)
		) {
			return [`${file}: ${target} goes past the door of ${other}`];
		}
		return [];
	});
}

function folderOf(file: string): string {
	return file.split("/")[1] ?? "";
}

function importsOf(source: string): string[] {
	const code = source.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
	const statement = /\b(?:import|export)\b[^;'"]*?\bfrom\s*["']([^"']+)["']/g;
	const bare = /\bimport\s*\(?\s*["']([^"']+)["']/g;
	return [...code.matchAll(statement), ...code.matchAll(bare)].map((match) => match[1] as string);
}
