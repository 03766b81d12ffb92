import type { Binding, Declared, Member } from "./facts.ts";

/** A symbol of a file. Its place in {@link symbolsOf} identifies it in the full-text index. */
export interface OrderedSymbol {
	readonly binding: number;
	/** Indexes into `members`, outermost first. Empty for a top-level symbol. */
	readonly path: readonly number[];
	readonly owners: readonly string[];
	readonly facts: Declared | Member;
}

/** The first line with decorators, attributes and what else stands before the name. */
export function firstLine({ at, startLine }: Pick<Declared, "at" | "startLine">): number {
	return startLine ?? at[0];
}

/** More symbols of one file, as in generated tables, are not searched. */
const MAX_SYMBOLS = 2 ** 12;

/** The symbols of a file: each top-level one, followed by its members. Equal facts give an equal order. */
export function symbolsOf(bindings: readonly Binding[]): readonly OrderedSymbol[] {
	const all: OrderedSymbol[] = [];
	const add = (one: OrderedSymbol) => {
		if (all.length >= MAX_SYMBOLS) return;
		all.push(one);
		const owners = [...one.owners, one.facts.name];
		one.facts.members?.forEach((facts, index) => {
			add({ binding: one.binding, path: [...one.path, index], owners, facts });
		});
	};
	bindings.forEach((facts, binding) => {
		if (facts.kind === "declared") add({ binding, path: [], owners: [], facts });
	});
	return all;
}
