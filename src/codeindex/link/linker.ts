import { getOrAdd } from "../../core/get-or-add.ts";
import type { Declared, Member, Reference, Step, TypeName } from "../facts.ts";
import type { BindingRef, FileId, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import {
	type DeclaredEntity,
	type Entity,
	ExportChains,
	keyOf,
	type MemberEntity,
	UNKNOWN,
} from "./modules.ts";

/** One linker per reader, since a linker caches results. */
export function linkerOf(reader: IndexReader): Linker {
	return getOrAdd(linkers, reader, () => new Linker(reader));
}

const linkers = new WeakMap<IndexReader, Linker>();

/** Resolves members and exports together, since each may need the other. */
export class Linker extends ExportChains {
	/** Types whose members are being looked up. */
	readonly #typing = new Set<string>();

	declaredAt({ file, binding }: BindingRef): Declared | undefined {
		const found = this.reader.bindings(file)[binding];
		return found?.kind === "declared" ? found : undefined;
	}

	memberAt(member: MemberEntity): Member | undefined {
		return this.#holderOf(member) as Member | undefined;
	}

	membersAt({ file, binding }: BindingRef, name: string): readonly MemberEntity[] {
		const holder = this.declaredAt({ file, binding });
		const paths = holder ? [...pathsTo(holder, name)] : [];
		return paths.map((path) => ({ kind: "member", file, binding, path }));
	}

	/** The entity of each step. Stops at the first step that cannot be resolved. */
	followSteps(at: BindingRef, { side = "value", steps = [] }: Reference): readonly Entity[] {
		return this.#walk({ entity: this.resolveBinding(at), side }, steps);
	}

	/** Members that this one overrides or implements, or whose types it declares. Nearest first. */
	overridden(member: MemberEntity): readonly MemberEntity[] {
		const found = new Map([[keyOf(member), member]]);
		for (const below of found.values()) {
			const described = this.implementation(below);
			if (described?.kind === "member") found.set(keyOf(described), described);
			for (const above of this.#inherited(below)) found.set(keyOf(above), above);
		}
		found.delete(keyOf(member));
		return [...found.values()];
	}

	/** The JavaScript symbol that a declaration or member in a paired `.d.ts` file describes. */
	implementation(entity: DeclaredEntity | MemberEntity): DeclaredEntity | MemberEntity | undefined {
		let holder: Declared | Member | undefined = this.declaredAt(entity);
		let found: Entity | undefined = this.implementationOf(entity);
		for (const index of entity.kind === "member" ? entity.path : []) {
			const member: Member | undefined = holder?.members?.[index];
			if (!member || !found) return undefined;
			const side = member.static ? "value" : "instance";
			found = this.#memberOf({ entity: found, side }, member.name);
			holder = member;
		}
		return found?.kind === entity.kind ? found : undefined;
	}

	protected override valueMember(entity: Entity, name: string): Entity | undefined {
		return this.#memberOf({ entity, side: "value" }, name);
	}

	/** `seen` guards against cycles, such as classes or aliases that refer to each other. */
	#memberOf(
		{ entity, side }: EntitySide,
		name: string,
		seen = new Set<string>(),
	): Entity | undefined {
		if (entity.kind === "external" || entity.kind === "unknown") return undefined;
		const key = `${side} ${keyOf(entity)}`;
		if (seen.has(key)) return undefined;
		seen.add(key);

		if (entity.kind === "namespace") return this.resolveExport(entity.file, name);
		const holder = this.#holderOf(entity);
		if (!holder) return undefined;
		const members = holder.members ?? [];
		const isSideless = this.#isSideless(entity.file);
		const index = members.findIndex(
			(member) => member.name === name && (isSideless || member.static === (side === "value")),
		);
		if (index >= 0) {
			const path = entity.kind === "member" ? [...entity.path, index] : [index];
			return { kind: "member", file: entity.file, binding: entity.binding, path };
		}
		const added = entity.kind === "declared" ? this.#addedMember(entity, holder, name) : undefined;
		if (added) return added;
		let first: Entity | undefined;
		for (const next of this.#inheritedFrom(entity, holder, side)) {
			const inherited = this.#memberOf(next, name, seen);
			if (!inherited) continue;
			// An alias may be a union: which part has the member depends on what the code has tested.
			if (holder.symbol !== "type") return inherited;
			if (first && keyOf(first) !== keyOf(inherited)) return undefined;
			first = inherited;
		}
		return first;
	}

	/** A member that another file of the package adds to the type. */
	#addedMember(
		{ file }: DeclaredEntity,
		holder: Declared | Member,
		name: string,
	): MemberEntity | undefined {
		for (const other of this.packages.others(file)) {
			const binding = this.ownExports(other).partials.get(holder.name);
			if (binding === undefined) continue;
			const members = this.declaredAt({ file: other, binding })?.members ?? [];
			const index = members.findIndex((member) => member.name === name);
			if (index >= 0) return { kind: "member", file: other, binding, path: [index] };
		}
		return undefined;
	}

	/** The declared type of a function's parameter. A class without a constructor has that of its parent. */
	#parameterOf(
		{ entity, side }: EntitySide,
		index: number,
		seen = new Set<string>(),
	): EntitySide | undefined {
		if (entity.kind !== "declared" && entity.kind !== "member") return undefined;
		const holder = this.#holderOf(entity);
		if (!holder || seen.has(keyOf(entity))) return undefined;
		seen.add(keyOf(entity));
		if (holder.parameters) {
			const found = holder.parameters.find((one) => one.index === index);
			return found && this.#typed(entity.file, found.type);
		}
		// The type of a function is that of its result, and overloads have no certain parameters.
		if (holder.symbol === "function" || holder.symbol === "method") return undefined;
		for (const next of this.#inheritedFrom(entity, holder, side)) {
			const found = this.#parameterOf(next, index, seen);
			if (found) return found;
		}
		return undefined;
	}

	#isSideless(file: FileId): boolean {
		return languageOf(this.reader.files.get(file)?.path ?? "")?.isSideless === true;
	}

	#holderOf(entity: DeclaredEntity | MemberEntity): Declared | Member | undefined {
		let holder: Declared | Member | undefined = this.declaredAt(entity);
		if (entity.kind === "member") for (const at of entity.path) holder = holder?.members?.[at];
		return holder;
	}

	/** Where to look up a name that is not an own member: in parents, then in the type. */
	*#inheritedFrom(
		entity: Entity & { file: FileId },
		holder: Declared | Member,
		side: Side,
	): Generator<EntitySide> {
		for (const parent of ("heritage" in holder && holder.heritage) || []) {
			// Classes inherit their parents' statics, so the side is the same. Interfaces have no statics.
			yield { entity: this.#typed(entity.file, parent).entity, side };
		}
		if (!holder.type) return;
		const type = this.#typed(entity.file, holder.type);
		if (isOfItsType(holder.symbol, side)) yield type;
		// After `const Alias = Foo`, `new Alias()` is a Foo.
		else if (side === "instance" && type.side === "value") yield { ...type, side: "instance" };
	}

	#typed(file: FileId, { binding, side, path = [] }: TypeName): EntitySide {
		const start = { entity: this.resolveBinding({ file, binding }), side };
		const last = path.at(-1);
		if (!last) return start;
		// Types can be parts of each other: `type A = B["a"]`, `interface B { a: A["b"] }`.
		const key = `${file} ${binding} ${side} ${path.map(({ name }) => name).join(" ")}`;
		if (this.#typing.has(key)) return { entity: UNKNOWN, side: sideAfter(last) };
		this.#typing.add(key);
		try {
			const reached = this.#walk(start, path);
			const entity = reached.length === path.length ? reached.at(-1) : undefined;
			return { entity: entity ?? UNKNOWN, side: sideAfter(last) };
		} finally {
			this.#typing.delete(key);
		}
	}

	#walk(start: EntitySide, steps: readonly Step[]): readonly Entity[] {
		const reached: Entity[] = [];
		let at = start;
		for (const step of steps) {
			if (step.name.startsWith(PARAMETER)) {
				const type = this.#parameterOf(at, Number(step.name.slice(PARAMETER.length)));
				if (!type) break;
				reached.push(type.entity);
				at = type;
				continue;
			}
			const entity = this.#memberOf(at, step.name);
			if (!entity) break;
			reached.push(entity);
			at = { entity, side: sideAfter(step) };
		}
		return reached;
	}

	#inherited(member: MemberEntity): readonly MemberEntity[] {
		const owner = this.declaredAt(member);
		const own = this.memberAt(member);
		if (!own || !owner?.heritage || member.path.length !== 1) return [];
		// A type alias overrides nothing.
		if (owner.symbol !== "class" && owner.symbol !== "interface") return [];
		// A static member replaces that of the parent for its own class only.
		if (own.static && !this.#isSideless(member.file)) return [];
		const side = own.static ? "value" : "instance";
		return owner.heritage.flatMap((parent) => {
			const { entity } = this.#typed(member.file, parent);
			const above = this.#memberOf({ entity, side }, own.name);
			return above?.kind === "member" ? [above] : [];
		});
	}
}

/** In a step: what follows is the index of a parameter. */
const PARAMETER = "(";

/** See `side` of {@link TypeName}. */
type Side = "instance" | "value";

interface EntitySide {
	readonly entity: Entity;
	readonly side: Side;
}

function* pathsTo(holder: Declared | Member, name: string): Generator<readonly number[]> {
	for (const [index, member] of (holder.members ?? []).entries()) {
		if (member.name === name) yield [index];
		for (const inner of pathsTo(member, name)) yield [index, ...inner];
	}
}

function sideAfter(step: Step): Side {
	return step.called ? "instance" : "value";
}

function isOfItsType(symbol: Declared["symbol"] | Member["symbol"], side: Side): boolean {
	const needed = symbol === "function" || symbol === "method" || symbol === "type";
	return side === (needed ? "instance" : "value");
}
