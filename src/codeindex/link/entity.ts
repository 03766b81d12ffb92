import type { FileId } from "../reader.ts";

/**
 * What a name comes down to, once imports and export chains have been followed. `namespace` is all that a module
 * exports, `external` belongs to a package, and `unknown` could not be followed to its end.
 */
export type Entity =
	| DeclaredEntity
	| MemberEntity
	| { readonly kind: "namespace"; readonly file: FileId }
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unknown" };

/** Something declared at the top level of a file; `binding` is its index there. */
export interface DeclaredEntity {
	readonly kind: "declared";
	readonly file: FileId;
	readonly binding: number;
}

/** A member of something declared: `path` are the indexes into `members`, level by level. */
export interface MemberEntity {
	readonly kind: "member";
	readonly file: FileId;
	readonly binding: number;
	readonly path: readonly number[];
}

/** `instance`: what calling or constructing gives, or a value of the type; `value`: the thing itself. */
export interface Held {
	readonly entity: Entity;
	readonly side: "instance" | "value";
}

/** What could not be followed; all unknown things are the same to the linker. */
export const UNKNOWN: Entity = { kind: "unknown" };

/** Equal for equal entities, and for no others. */
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
