import { getOrAdd } from "../../core/get-or-add.ts";
import { folderOf } from "../../core/project-path.ts";
import type { EdgeKind } from "../facts.ts";
import type { Wanted } from "./file-lookup.ts";
import type { Conditions } from "./package-targets.ts";
import type { Package, Packages } from "./packages.ts";
import type { Tsconfig, Tsconfigs } from "./tsconfig.ts";

/** Files that share it resolve non-relative specifiers alike. */
export interface Scope {
	readonly tsconfig: Tsconfig;
	readonly owner: Package | undefined;
	readonly conditions: Conditions;
	readonly passes: readonly Wanted[];
}

/** `T` is the resolver's cached answer. */
export interface Requester<T> {
	readonly folder: string;
	readonly import: { readonly scope: Scope; readonly answers: Map<string, T> };
	readonly require: { readonly scope: Scope; readonly answers: Map<string, T> };
	/** Shared by files of one folder with the same configuration. */
	readonly relative: Map<string, T>;
	readonly isCommonJs: boolean;
}

export function createRequesters<T>(
	tsconfigs: Tsconfigs,
	packages: Packages,
): (from: string) => Requester<T> {
	const requesters = new Map<string, Requester<T>>();
	const shared = new Map<Tsconfig, Map<Package | undefined, ReturnType<typeof share>>>();

	const share = (tsconfig: Tsconfig, owner: Package | undefined) => ({
		import: { scope: createScope(tsconfig, owner, "import"), answers: new Map<string, T>() },
		require: { scope: createScope(tsconfig, owner, "require"), answers: new Map<string, T>() },
		relativeTo: new Map<string, Map<string, T>>(),
	});

	function add(from: string): Requester<T> {
		const folder = folderOf(from);
		const tsconfig = tsconfigs.of(from);
		const owner = packages.around(folder);
		const ofConfig = getOrAdd(shared, tsconfig, () => new Map());
		const { relativeTo, ...both } = getOrAdd(ofConfig, owner, () => share(tsconfig, owner));
		const relative = getOrAdd(relativeTo, folder, () => new Map());
		return { ...both, folder, relative, isCommonJs: isCommonJs(from, tsconfig, owner) };
	}

	return (from) => getOrAdd(requesters, from, () => add(from));
}

export function asksByRequire(requester: Requester<unknown>, kinds: readonly EdgeKind[]): boolean {
	if (kinds.length > 0 && kinds.every((kind) => kind === "require")) return true;
	return requester.isCommonJs && !kinds.includes("dynamic");
}

function createScope(
	tsconfig: Tsconfig,
	owner: Package | undefined,
	condition: "import" | "require",
): Scope {
	const passes: Wanted[] = tsconfig.resolution === "node10" ? ["typed", "plain"] : ["all"];
	const holding = new Set([condition, "types", ...tsconfig.customConditions]);
	if (tsconfig.resolution !== "bundler") holding.add("node");
	return { tsconfig, owner, conditions: (name) => holding.has(name), passes };
}

/** The package decides only where TypeScript follows Node. */
function isCommonJs(from: string, tsconfig: Tsconfig, owner: Package | undefined): boolean {
	if (/\.c[jt]s$/.test(from)) return true;
	if (tsconfig.resolution !== "node16") return false;
	return !/\.m[jt]s$/.test(from) && owner?.isModule !== true;
}
