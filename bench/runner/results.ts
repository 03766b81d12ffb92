/** The committed results: their record of origin, and how they are replaced. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Line, storedLine } from "../support.ts";
import { git } from "./git.ts";

/** Inputs of a result: uncommitted changes here are not in the commit that the result names. */
const SOURCES = ["src", "bench", ":!bench/results", "test", "package.json", "package-lock.json"];

/** The reason why results of this tree must not be written, since they name a commit. `undefined` if they may be. */
export function treeReason(root: string): string | undefined {
	let changes: string;
	try {
		changes = git(root, "status", "--porcelain", "--", ...SOURCES);
	} catch {
		return "there is no git repository here, and a result names its commit";
	}
	const first = changes.split("\n")[0]?.slice(3);
	return first ? `${first} is not committed, and a result names its commit` : undefined;
}

/** Replaces `bench/results/<name>.json` as a whole, or leaves it as it is. */
export function writeResults(root: string, name: string, lines: readonly Line[]): void {
	const folder = join(root, "bench", "results");
	mkdirSync(folder, { recursive: true });
	const content = {
		date: new Date().toISOString().slice(0, 10),
		...environment(root),
		results: lines.map(storedLine),
	};
	const file = join(folder, `${name}.json`);
	const draft = `${file}.${process.pid}`;
	try {
		writeFileSync(draft, `${JSON.stringify(content, null, "\t")}\n`);
		renameSync(draft, file);
	} catch (error) {
		rmSync(draft, { force: true });
		throw error;
	}
}

/** The environment of a figure, without anything that identifies the machine or its owner. */
function environment(root: string) {
	return {
		node: process.version,
		pi: piVersion(),
		cpu: cpus()[0]?.model ?? "unknown",
		cores: cpus().length,
		commit: git(root, "rev-parse", "--short", "HEAD"),
	};
}

function piVersion(): string {
	const manifest = findPackageJSON("@earendil-works/pi-coding-agent", import.meta.url);
	return manifest ? JSON.parse(readFileSync(manifest, "utf8")).version : "unknown";
}
