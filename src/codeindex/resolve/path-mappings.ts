import { joinPath } from "../../core/project-path.ts";

/** Exact names first, then the longest prefix. */
export interface PathMappings {
	readonly exact: ReadonlyMap<string, readonly string[]>;
	readonly patterns: readonly PathMapping[];
}

export interface PathMapping {
	readonly prefix: string;
	readonly suffix: string;
	readonly targets: readonly string[];
}

export interface MappedPaths {
	readonly places: readonly MappedPlace[];
	readonly isCatchAll: boolean;
}

export interface MappedPlace {
	readonly path: string;
	/** The target has an extension: an exact match takes precedence. */
	readonly isLiteral: boolean;
	readonly folderOnly: boolean;
}

/** Ignores keys and targets with two stars, as TypeScript does. */
export function parsePathMappings(
	value: ReadonlyMap<string, readonly string[]>,
	inProject: (target: string) => string | undefined,
): PathMappings {
	const exact = new Map<string, readonly string[]>();
	const patterns: PathMapping[] = [];
	for (const [key, targets] of value) {
		const usable = targets
			.filter((target) => target.split("*").length <= 2)
			.flatMap((target) => inProject(target) ?? []);
		const [prefix = "", suffix, more] = key.split("*");
		if (suffix === undefined) exact.set(key, usable);
		else if (more === undefined) patterns.push({ prefix, suffix, targets: usable });
	}
	patterns.sort((a, b) => b.prefix.length - a.prefix.length);
	return { exact, patterns };
}

export function matchPathMappings(paths: PathMappings, specifier: string): MappedPaths | undefined {
	const exact = paths.exact.get(specifier);
	if (exact) return { places: exact.flatMap((target) => placeAt(target, "")), isCatchAll: false };
	for (const { prefix, suffix, targets } of paths.patterns) {
		if (specifier.length < prefix.length + suffix.length) continue;
		if (!specifier.startsWith(prefix) || !specifier.endsWith(suffix)) continue;
		const star = specifier.slice(prefix.length, specifier.length - suffix.length);
		const places = targets.flatMap((target) => placeAt(target, star));
		return { places, isCatchAll: prefix === "" && suffix === "" };
	}
	return undefined;
}

function placeAt(target: string, star: string): MappedPlace[] {
	const filled = star === "" ? target : target.replace("*", () => star);
	const path = joinPath("", filled);
	if (path === undefined) return [];
	const isLiteral = /\.(?:[cm]?[jt]s|[jt]sx)$/.test(target);
	return [{ path, isLiteral, folderOnly: filled.endsWith("/") }];
}
