import { isRecord } from "../../core/property.ts";
import type { ConfigObject } from "./config-files.ts";

export type PackageTargets =
	/** In order of preference. Empty if the name is hidden. */
	| { readonly kind: "targets"; readonly targets: readonly string[] }
	| { readonly kind: "not-listed" };

/** As in TypeScript, targets need not be built. */
export function exportTargets(
	exports: unknown,
	subpath: string,
	conditions: Conditions,
): PackageTargets {
	const isTable = isRecord(exports) && Object.keys(exports).some((key) => key.startsWith("."));
	if (isTable) return tableTargets(exports, subpath, conditions);
	if (subpath !== ".") return { kind: "not-listed" };
	return { kind: "targets", targets: collect(exports, conditions, (target) => target) };
}

export function importTargets(
	imports: ConfigObject,
	name: string,
	conditions: Conditions,
): PackageTargets {
	return tableTargets(imports, name, conditions);
}

/** `default` always holds. */
export type Conditions = (condition: string) => boolean;

function tableTargets(table: ConfigObject, name: string, conditions: Conditions): PackageTargets {
	if (!name.endsWith("/") && !name.includes("*") && Object.hasOwn(table, name)) {
		return { kind: "targets", targets: collect(table[name], conditions, (target) => target) };
	}
	for (const { key, prefix, suffix } of patternsOf(table)) {
		// A key that ends in a slash covers everything below.
		const isPattern = suffix !== undefined;
		if (!name.startsWith(prefix)) continue;
		if (isPattern && (!name.endsWith(suffix) || name.length < prefix.length + suffix.length)) {
			continue;
		}
		const rest = name.slice(prefix.length, isPattern ? name.length - suffix.length : undefined);
		if (/(?:^|\/)(?:\.\.?|node_modules)(?:\/|$)/.test(rest))
			return { kind: "targets", targets: [] };
		const fill = (target: string) => {
			if (isPattern) return target.replaceAll("*", () => rest);
			return target.endsWith("/") ? target + rest : undefined;
		};
		return { kind: "targets", targets: collect(table[key], conditions, fill) };
	}
	return { kind: "not-listed" };
}

interface TablePattern {
	readonly key: string;
	readonly prefix: string;
	readonly suffix?: string;
}

const patternsOfTable = new WeakMap<ConfigObject, readonly TablePattern[]>();

/** Most specific first. */
function patternsOf(table: ConfigObject): readonly TablePattern[] {
	const known = patternsOfTable.get(table);
	if (known) return known;
	const patterns: TablePattern[] = [];
	for (const key of Object.keys(table)) {
		const [prefix = "", suffix, more] = key.split("*");
		if (suffix !== undefined && more === undefined) patterns.push({ key, prefix, suffix });
		else if (suffix === undefined && key.endsWith("/")) patterns.push({ key, prefix });
	}
	// The star counts: of equal prefixes, the one with a star comes first.
	const special = (pattern: TablePattern) =>
		pattern.prefix.length + (pattern.suffix === undefined ? 0 : 1);
	patterns.sort((a, b) => special(b) - special(a) || b.key.length - a.key.length);
	patternsOfTable.set(table, patterns);
	return patterns;
}

/** Limits against hostile files. */
const maxDepth = 20;
const maxTargets = 200;

function collect(
	target: unknown,
	conditions: Conditions,
	fill: (target: string) => string | undefined,
): string[] {
	const targets: string[] = [];
	visit(target, 0);
	return targets;

	function visit(value: unknown, depth: number): void {
		if (depth > maxDepth || targets.length >= maxTargets) return;
		if (typeof value === "string") {
			const filled = value.includes("\0") ? undefined : fill(value);
			if (filled !== undefined) targets.push(filled);
		} else if (Array.isArray(value)) {
			for (const item of value) visit(item, depth + 1);
		} else if (isRecord(value)) {
			for (const [condition, inner] of Object.entries(value)) {
				if (condition === "default" || conditions(condition)) visit(inner, depth + 1);
			}
		}
	}
}
