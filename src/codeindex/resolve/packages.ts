import { isRecord } from "../../core/property.ts";
import { matchesPath, type PathPattern, parsePathPattern } from "../scan/path-pattern.ts";
import { type ConfigFiles, type ConfigObject, own, ownText, ownTexts } from "./config-files.ts";
import { pnpmWorkspacePatterns } from "./pnpm-workspace.ts";
import { folderOf, joinPath } from "./project-path.ts";

/** A package of the project: a folder with a `package.json`. */
export interface Package {
	readonly folder: string;
	readonly name?: string;
	readonly isModule: boolean;
	/** `exports` and `imports` as written. */
	readonly exports?: unknown;
	readonly imports?: ConfigObject;
	/** Entry points in the order in which TypeScript asks for them: `typings`, `types`, `main`. */
	readonly types?: string;
	readonly main?: string;
	/** Entry points that bundlers ask for: `source`, `module`, `browser`. */
	readonly otherEntries: readonly string[];
	/** What it depends on by name, with the version or place as written. */
	readonly dependencies: ReadonlyMap<string, string>;
}

/** The packages of a project. */
export interface Packages {
	at(folder: string): Package | undefined;
	/** The package that a folder belongs to. */
	around(folder: string): Package | undefined;
	/** The package that a name stands for, if it is one of the project; seen from another package. */
	named(name: string, from: Package | undefined): Package | undefined;
	/** Whether the package or one around it lists the name among its dependencies. */
	dependsOn(name: string, from: Package | undefined): boolean;
}

/** Reads every `package.json` of the project. */
export function createPackages(files: ConfigFiles): Packages {
	const byFolder = new Map<string, Package>();
	const patterns: WorkspacePatterns[] = [];
	for (const path of files.paths) {
		const folder = folderOf(path);
		if (path.endsWith("pnpm-workspace.yaml")) {
			patterns.push(workspacePatterns(folder, pnpmWorkspacePatterns(files.text(path) ?? "")));
		} else if (/(?:^|\/)package\.json$/.test(path)) {
			const manifest = files.object(path);
			if (manifest === undefined) continue;
			byFolder.set(folder, readPackage(folder, manifest));
			const workspaces = own(manifest, "workspaces");
			const listed = isRecord(workspaces)
				? ownTexts(workspaces, "packages")
				: ownTexts(manifest, "workspaces");
			if (listed) patterns.push(workspacePatterns(folder, listed));
		}
	}
	const everyName = namesOf(byFolder.values());
	// Without any workspace, as where only a part of a repository is open, every package may be meant.
	const members = [...byFolder.values()].filter((found) => isMember(found.folder, patterns));
	const workspaceName = patterns.length === 0 ? everyName : namesOf(members);
	const aroundFolder = new Map<string, Package | undefined>();

	function around(folder: string): Package | undefined {
		if (aroundFolder.has(folder)) return aroundFolder.get(folder);
		const found = byFolder.get(folder) ?? (folder === "" ? undefined : around(folderOf(folder)));
		aroundFolder.set(folder, found);
		return found;
	}

	function named(name: string, from: Package | undefined): Package | undefined {
		const place = from?.dependencies.get(name);
		if (place?.startsWith("npm:")) return undefined;
		const [, path] = /^(?:file|link|portal):(.*)$/.exec(place ?? "") ?? [];
		if (path !== undefined && from) return byFolder.get(joinPath(from.folder, path) ?? "\0");
		return (
			workspaceName.get(name) ?? (place?.startsWith("workspace:") ? everyName.get(name) : undefined)
		);
	}

	function dependsOn(name: string, from: Package | undefined): boolean {
		if (from === undefined) return false;
		if (from.dependencies.has(name)) return true;
		return from.folder !== "" && dependsOn(name, around(folderOf(from.folder)));
	}

	return { at: (folder) => byFolder.get(folder), around, named, dependsOn };
}

function readPackage(folder: string, manifest: ConfigObject): Package {
	const name = ownText(manifest, "name");
	const types = ownText(manifest, "typings") ?? ownText(manifest, "types");
	const main = ownText(manifest, "main");
	const imports = own(manifest, "imports");
	const exports = own(manifest, "exports");
	return {
		folder,
		...(name !== undefined && { name }),
		isModule: own(manifest, "type") === "module",
		...(exports !== undefined && exports !== null && { exports }),
		...(isRecord(imports) && { imports }),
		...(types !== undefined && { types }),
		...(main !== undefined && { main }),
		otherEntries: ["source", "module", "browser"].flatMap((key) => ownText(manifest, key) ?? []),
		dependencies: dependenciesOf(manifest),
	};
}

function dependenciesOf(manifest: ConfigObject): Map<string, string> {
	const found = new Map<string, string>();
	for (const key of [
		"peerDependencies",
		"optionalDependencies",
		"devDependencies",
		"dependencies",
	]) {
		const listed = own(manifest, key);
		if (!isRecord(listed)) continue;
		for (const [name, place] of Object.entries(listed)) {
			if (typeof place === "string") found.set(name, place);
		}
	}
	return found;
}

/** If two have one name, the one nearer to the root is meant: the other is a fixture or an example. */
function namesOf(packages: Iterable<Package>): Map<string, Package> {
	const names = new Map<string, Package>();
	const depth = (found: Package) => found.folder.split("/").length;
	for (const found of packages) {
		if (found.name === undefined) continue;
		const other = names.get(found.name);
		if (other === undefined || depth(found) < depth(other)) names.set(found.name, found);
	}
	return names;
}

interface WorkspacePatterns {
	readonly folder: string;
	readonly wanted: readonly PathPattern[];
	readonly unwanted: readonly PathPattern[];
}

function workspacePatterns(folder: string, listed: readonly string[]): WorkspacePatterns {
	const inRoot = (pattern: string) => {
		const path = joinPath(folder, pattern);
		return path === undefined ? [] : [parsePathPattern(path)];
	};
	const expanded = listed.slice(0, maxPatterns).flatMap(withoutBraces);
	return {
		folder,
		wanted: expanded.filter((pattern) => !pattern.startsWith("!")).flatMap(inRoot),
		unwanted: expanded
			.filter((pattern) => pattern.startsWith("!"))
			.flatMap((pattern) => inRoot(pattern.slice(1))),
	};
}

const maxPatterns = 1_000;

/** `{a,b}/*` as `a/*` and `b/*`; nested braces are left as they are and match nothing. */
function withoutBraces(pattern: string): string[] {
	let patterns = [pattern];
	for (let round = 0; round < 4; round++) {
		patterns = patterns.flatMap((each) => {
			const [whole, inner] = /\{([^{}]*)\}/.exec(each) ?? [];
			if (whole === undefined || inner === undefined || each.length > 500) return [each];
			return inner.split(",").map((choice) => each.replace(whole, () => choice));
		});
		if (patterns.length > maxPatterns) return [];
	}
	return patterns;
}

function isMember(folder: string, all: readonly WorkspacePatterns[]): boolean {
	const names = folder === "" ? [] : folder.split("/");
	return all.some(({ folder: root, wanted, unwanted }) => {
		if (root === folder) return true;
		const matches = (pattern: PathPattern) => matchesPath(pattern, names);
		return wanted.some(matches) && !unwanted.some(matches);
	});
}
