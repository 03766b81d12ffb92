import { getOrAdd } from "../../core/get-or-add.ts";
import { folderOf, joinPath } from "../../core/project-path.ts";
import { isRecord } from "../../core/property.ts";
import { matchesPath, type PathPattern, parsePathPattern } from "../scan/path-pattern.ts";
import { type ConfigFiles, type ConfigObject, own, ownText, ownTexts } from "./config-files.ts";

export type Package = ReturnType<typeof readPackage>;

export class Packages {
	readonly byFolder: ReadonlyMap<string, Package>;
	readonly #byName: ReadonlyMap<string, Package>;
	readonly #workspaceByName: ReadonlyMap<string, Package>;
	readonly #enclosing = new Map<string, Package | undefined>();

	constructor(files: ConfigFiles) {
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
		const all = [...byFolder.values()];
		this.byFolder = byFolder;
		this.#byName = namesOf(all);
		// Without a workspace, as in a partial checkout, every package counts as a member.
		this.#workspaceByName =
			patterns.length === 0
				? this.#byName
				: namesOf(all.filter(({ folder }) => isMember(folder, patterns)));
	}

	enclosing(folder: string): Package | undefined {
		return getOrAdd(this.#enclosing, folder, () => {
			const here = this.byFolder.get(folder);
			return here ?? (folder === "" ? undefined : this.enclosing(folderOf(folder)));
		});
	}

	named(name: string, from: Package | undefined): Package | undefined {
		const place = from?.dependencies.get(name);
		if (place?.startsWith("npm:")) return undefined;
		const [, path] = /^(?:file|link|portal):(.*)$/.exec(place ?? "") ?? [];
		if (path !== undefined && from) return this.byFolder.get(joinPath(from.folder, path) ?? "\0");
		const found = this.#workspaceByName.get(name);
		return found ?? (place?.startsWith("workspace:") ? this.#byName.get(name) : undefined);
	}

	dependsOn(name: string, from: Package | undefined): boolean {
		if (from === undefined) return false;
		if (from.dependencies.has(name)) return true;
		return from.folder !== "" && this.dependsOn(name, this.enclosing(folderOf(from.folder)));
	}
}

function readPackage(folder: string, manifest: ConfigObject) {
	const imports = own(manifest, "imports");
	return {
		folder,
		name: ownText(manifest, "name"),
		isModule: own(manifest, "type") === "module",
		exports: own(manifest, "exports") ?? undefined,
		imports: isRecord(imports) ? imports : undefined,
		/** TypeScript prefers `typings` over `types`, and both over `main`. */
		types: ownText(manifest, "typings") ?? ownText(manifest, "types"),
		main: ownText(manifest, "main"),
		otherEntries: ["source", "module", "browser"].flatMap((key) => ownText(manifest, key) ?? []),
		/** Versions or locations as written, by name. */
		dependencies: dependenciesOf(manifest),
	};
}

function dependenciesOf(manifest: ConfigObject): Map<string, string> {
	const found = new Map<string, string>();
	// If several kinds list a package, the last kind wins.
	const kinds = ["peerDependencies", "optionalDependencies", "devDependencies", "dependencies"];
	for (const kind of kinds) {
		const listed = own(manifest, kind);
		if (!isRecord(listed)) continue;
		for (const [name, place] of Object.entries(listed)) {
			if (typeof place === "string") found.set(name, place);
		}
	}
	return found;
}

/** Of packages with the same name, the one nearest to the root wins: others are fixtures or examples. */
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

type WorkspacePatterns = ReturnType<typeof workspacePatterns>;

function workspacePatterns(folder: string, listed: readonly string[]) {
	const wanted: PathPattern[] = [];
	const unwanted: PathPattern[] = [];
	for (const pattern of listed.slice(0, MAX_PATTERNS).flatMap(withoutBraces)) {
		const isUnwanted = pattern.startsWith("!");
		const path = joinPath(folder, isUnwanted ? pattern.slice(1) : pattern);
		if (path !== undefined) (isUnwanted ? unwanted : wanted).push(parsePathPattern(path));
	}
	return { folder, wanted, unwanted };
}

const MAX_PATTERNS = 1_000;

/** `{a,b}/*` becomes `a/*` and `b/*`. Expands up to four pairs of braces. */
function withoutBraces(pattern: string): string[] {
	let patterns = [pattern];
	for (let round = 0; round < 4; round++) {
		patterns = patterns.flatMap((each) => {
			const [whole, inner] = /\{([^{}]*)\}/.exec(each) ?? [];
			if (whole === undefined || inner === undefined || each.length > 500) return [each];
			return inner.split(",").map((choice) => each.replace(whole, () => choice));
		});
		if (patterns.length > MAX_PATTERNS) return [];
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

/** Reads only `packages`, as a block or flow list; no other YAML. */
function pnpmWorkspacePatterns(text: string): string[] {
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

function scalar(item: string): string {
	const [, double, single] = /^\s*(?:"([^"]*)"|'([^']*)')/.exec(item) ?? [];
	return double ?? single ?? item.replace(/(?:^|\s)#.*$/, "").trim();
}
