import { getOrAdd } from "../../core/get-or-add.ts";
import type { Export } from "../facts.ts";
import type { BindingRef, FileId, IndexReader, Resolution } from "../reader.ts";
import { pairsOf } from "./module-pairs.ts";

/** `external` belongs to a package; `unknown` could not be followed to its declaration. */
export type Entity =
	| DeclaredEntity
	| MemberEntity
	| { readonly kind: "namespace"; readonly file: FileId }
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unknown" };

export interface DeclaredEntity {
	readonly kind: "declared";
	readonly file: FileId;
	readonly binding: number;
}

/** `path` are the indexes into `members`, level by level. */
export interface MemberEntity {
	readonly kind: "member";
	readonly file: FileId;
	readonly binding: number;
	readonly path: readonly number[];
}

/** `instance`: the result of a call or construction, or a value of the type. `value`: itself. */
export interface Held {
	readonly entity: Entity;
	readonly side: "instance" | "value";
}

export const UNKNOWN: Entity = { kind: "unknown" };

/** Injective: equal keys mean equal entities. */
export function keyOf(entity: Entity): string {
	switch (entity.kind) {
		case "declared":
			return `${entity.file}:${entity.binding}`;
		case "member":
			return `${entity.file}:${entity.binding}.${entity.path.join(".")}`;
		case "namespace":
			return `${entity.file}:*`;
		case "external":
			return `package ${entity.name}`;
		case "unknown":
			return "unknown";
	}
}

export interface OwnExports {
	readonly byName: ReadonlyMap<string, NamedExport>;
	readonly stars: readonly StarExport[];
	readonly byBinding: ReadonlyMap<number, readonly LocalExport[]>;
}

type NamedExport = Exclude<Export, { kind: "star" }>;
type StarExport = Extract<Export, { kind: "star" }>;
type LocalExport = Extract<Export, { kind: "local" }>;

/** `memberOf` serves CommonJS: `import { a }` of `module.exports = thing` is `thing.a`. */
export function createExportChains(
	reader: IndexReader,
	memberOf: (entity: Entity, name: string) => Entity | undefined,
) {
	const pairs = pairsOf(reader);
	const own = new Map<FileId, OwnExports>();
	const found = new Map<string, Entity | undefined>();
	// Cycle guard: a barrel may re-export itself.
	const pending = new Set<string>();

	function ownExports(file: FileId): OwnExports {
		// Fast path without a closure.
		return own.get(file) ?? getOrAdd(own, file, () => sortExports(reader.exports(file)));
	}

	/** Covers both files of a pair. `name` may be `default` or `=` (all of CommonJS). */
	function exported(file: FileId, name: string): Entity | undefined {
		const key = `${file} ${name}`;
		if (found.has(key)) return found.get(key);
		if (pending.has(key)) return undefined;
		pending.add(key);
		const other = pairs.other(file);
		const entity =
			exportedHere(file, name) ?? (other === undefined ? undefined : exportedHere(other, name));
		pending.delete(key);
		// Only cache certain results: another pending chain may have cut this one short.
		const isCertain = entity !== undefined && entity.kind !== "unknown";
		if (isCertain || pending.size === 0) found.set(key, entity);
		return entity;
	}

	function exportedHere(file: FileId, name: string): Entity | undefined {
		return (
			throughStars(file, name, new Set()) ?? wholeModule(file, name) ?? partOfWhole(file, name)
		);
	}

	function implementation({ file, binding }: DeclaredEntity): DeclaredEntity | undefined {
		const plain = pairs.implementation(file);
		if (plain === undefined) return undefined;
		for (const { name } of ownExports(file).byBinding.get(binding) ?? []) {
			const entity = exportedHere(plain, name);
			if (entity?.kind === "declared") return entity;
		}
		return undefined;
	}

	/** Own names first, then each `export *` in order. The first match wins, as in TypeScript. */
	function throughStars(file: FileId, name: string, seen: Set<FileId>): Entity | undefined {
		if (seen.has(file)) return undefined;
		seen.add(file);
		const exports = ownExports(file);
		const own = exports.byName.get(name);
		if (own) return ofExport(file, own);
		if (name === "default" || name === "=") return undefined;
		let outside: Entity | undefined;
		for (const star of exports.stars) {
			const target = reader.resolutions(file)[star.request];
			const entity =
				target?.kind === "file" ? throughPair(target.file, name, seen) : outsideOf(target);
			if (entity === undefined) continue;
			if (entity.kind !== "external" && entity.kind !== "unknown") return entity;
			outside ??= entity;
		}
		return outside;
	}

	function throughPair(file: FileId, name: string, seen: Set<FileId>): Entity | undefined {
		const entity = throughStars(file, name, seen);
		if (entity) return entity;
		const other = pairs.other(file);
		return other === undefined ? undefined : throughStars(other, name, seen);
	}

	function exportedNames(file: FileId): ReadonlySet<string> {
		const names = new Set<string>();
		const files = new Set([file]);
		for (const one of files) {
			const { byName, stars } = ownExports(one);
			for (const name of byName.keys()) {
				if (one === file || (name !== "default" && name !== "=")) names.add(name);
			}
			for (const { request } of stars) {
				const target = reader.resolutions(one)[request];
				if (target?.kind === "file") files.add(target.file);
			}
		}
		return names;
	}

	function ofExport(file: FileId, own: NamedExport): Entity {
		if (own.kind === "local") return bound({ file, binding: own.binding });
		return imported(file, own.request, own.imported);
	}

	/** `import all from "./common.cjs"` gives the whole module, which has no `default`. */
	function wholeModule(file: FileId, name: string): Entity | undefined {
		if (name !== "default" && name !== "=") return undefined;
		const { byName } = ownExports(file);
		if (name === "default" && byName.has("=")) return exported(file, "=");
		const isCommonJs = /\.(?:c?jsx?|cts)$/.test(reader.files.get(file)?.path ?? "");
		if (name === "=" || (isCommonJs && byName.size > 0)) return { kind: "namespace", file };
		return undefined;
	}

	function partOfWhole(file: FileId, name: string): Entity | undefined {
		if (name === "=" || !ownExports(file).byName.has("=")) return undefined;
		const whole = exported(file, "=");
		return whole && memberOf(whole, name);
	}

	function imported(file: FileId, request: number, name: string): Entity {
		const target = reader.resolutions(file)[request];
		if (target?.kind !== "file") return outsideOf(target);
		if (name === "*") return { kind: "namespace", file: target.file };
		return exported(target.file, name) ?? UNKNOWN;
	}

	function bound(at: BindingRef): Entity {
		const binding = reader.bindings(at.file)[at.binding];
		if (!binding) return UNKNOWN;
		if (binding.kind === "declared") {
			return { kind: "declared", file: at.file, binding: at.binding };
		}
		return imported(at.file, binding.request, binding.imported);
	}

	return { exported, exportedHere, implementation, exportedNames, bound, ownExports };
}

function outsideOf(target: Resolution | undefined): Entity {
	return target?.kind === "external" ? { kind: "external", name: target.name } : UNKNOWN;
}

function sortExports(exports: readonly Export[]): OwnExports {
	const byName = new Map<string, NamedExport>();
	const byBinding = new Map<number, LocalExport[]>();
	const stars: StarExport[] = [];
	for (const one of exports) {
		if (one.kind === "star") {
			stars.push(one);
			continue;
		}
		if (!byName.has(one.name)) byName.set(one.name, one);
		if (one.kind === "local") getOrAdd(byBinding, one.binding, () => []).push(one);
	}
	return { byName, stars, byBinding };
}
