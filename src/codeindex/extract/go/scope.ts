import type { TypeName } from "../../facts.ts";

/** What is known of a value: its type, or that of its elements. Pointers are the same as what they point to. */
export interface Known {
	readonly type?: TypeName | undefined;
	readonly element?: Known | undefined;
	/** Results of a function value or literal. */
	readonly result?: Known | undefined;
}

export const UNKNOWN: Known = {};

/** A block. Names are visible from their declaration on. */
export class Block {
	readonly #names = new Map<string, Known>();
	readonly #parent: Block | undefined;

	constructor(parent?: Block) {
		this.#parent = parent;
	}

	declare(name: string, known: Known = UNKNOWN): void {
		if (name !== "_") this.#names.set(name, known);
	}

	find(name: string): Known | undefined {
		for (let block: Block | undefined = this; block; block = block.#parent) {
			const found = block.#names.get(name);
			if (found) return found;
		}
		return undefined;
	}
}

/** Names of the file block and, as far as this file declares them, of the package block. */
export interface FileNames {
	/** The file's own package, as a module. Names that the file does not declare are looked up in it. */
	readonly package: number;
	readonly declared: ReadonlyMap<string, number>;
	readonly imports: ReadonlyMap<string, number>;
	/** Modules whose names are all imported: `import . "x"`. */
	readonly dots: readonly number[];
	/** Declared types whose literals have keys that are expressions: maps, slices and arrays. */
	readonly containers: ReadonlySet<string>;
}

/** Names of the universe that programs do not declare again. Others may be names of the package. */
export const PREDECLARED = new Set(
	"nil true false iota string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr bool byte rune float32 float64 complex64 complex128 error len append make panic cap".split(
		" ",
	),
);
