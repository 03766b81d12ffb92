import { getOrAdd } from "../../../core/get-or-add.ts";
import type {
	Binding,
	EdgeKind,
	Export,
	FileFacts,
	Imported,
	ModuleRequest,
	Position,
	Reference,
	Step,
	TypeName,
	UsageKind,
} from "../../facts.ts";
import { positionsOf } from "../facts-builder.ts";
import { headOf } from "../signature.ts";
import type { SyntaxNode, SyntaxTree } from "./syntax-tree.ts";

/** An expression that starts at a binding: its steps so far. Recorded when it ends. */
export interface Chain {
	readonly bindings: readonly number[];
	/** Offset of the binding's name; absent if the binding is the type of a variable. */
	readonly at?: number;
	readonly side: "instance" | "value";
	readonly steps: readonly Step[];
}

/** Maximum number of steps of a reference. */
const MAX_STEPS = 4;

/** Facts of a file while they are collected. Languages declare into it and record chains. */
export class FactsDraft {
	readonly source: string;
	readonly bindings: Binding[] = [];
	readonly exports: Export[] = [];
	readonly references: Reference[] = [];
	readonly looseAccesses = new Map<string, number>();
	readonly #requests: (ModuleRequest & { kinds: EdgeKind[] })[] = [];
	readonly #requestOf = new Map<string, number>();
	readonly #namespaceOf = new Map<number, number>();
	readonly #positions: ReturnType<typeof positionsOf>;

	constructor(source: string) {
		this.source = source;
		this.#positions = positionsOf(source);
	}

	text({ start, end }: Pick<SyntaxNode, "start" | "end">): string {
		return this.source.slice(start, end);
	}

	at(offset: number): Position {
		return this.#positions.at(offset);
	}

	line(offset: number): number {
		return this.#positions.line(offset);
	}

	/** One line from `start`, up to the body. */
	signature(start: number, end: number): string {
		return headOf(this.source, start, end).replace(/:$/, "");
	}

	/** Without a kind, the request makes no edge between files. */
	request(specifier: string, offset: number, kind?: EdgeKind): number {
		const index = getOrAdd(this.#requestOf, specifier, () => {
			return this.#requests.push({ specifier, kinds: [], at: this.at(offset) }) - 1;
		});
		const kinds = this.#requests[index]?.kinds;
		if (kind !== undefined && kinds && !kinds.includes(kind)) kinds.push(kind);
		return index;
	}

	declare(binding: Binding): number {
		return this.bindings.push(binding) - 1;
	}

	/** The module itself, without a name in the file: references to it have steps but no position. */
	namespace(request: number, offset: number): number {
		return getOrAdd(this.#namespaceOf, request, () => {
			return this.declare(imported({ name: "", request, imported: "*", at: this.at(offset) }));
		});
	}

	export(name: string, binding: number): void {
		this.exports.push({ kind: "local", name, binding, typeOnly: false });
	}

	/** An access on a value of unknown type. */
	loose(name: string): void {
		this.looseAccesses.set(name, (this.looseAccesses.get(name) ?? 0) + 1);
	}

	/** Adds a step. Returns undefined, and counts the access, if the chain is too long or unknown. */
	access(chain: Chain | undefined, name: string, offset: number): Chain | undefined {
		if (!chain) {
			this.loose(name);
			return undefined;
		}
		if (chain.steps.length >= MAX_STEPS) {
			this.record(chain, "read");
			this.loose(name);
			return undefined;
		}
		return { ...chain, steps: [...chain.steps, { name, at: this.at(offset) }] };
	}

	record(chain: Chain | undefined, usage: UsageKind): void {
		if (!chain) return;
		const { bindings, at, side, steps } = chain;
		const isWritten = at !== undefined || steps.some((step) => step.at !== undefined);
		if (!isWritten) return;
		for (const binding of bindings) {
			this.references.push({
				binding,
				...(at !== undefined && { at: this.at(at) }),
				usage,
				...(steps.length > 0 && { side, steps }),
			});
		}
	}

	finish({ errorAt }: Pick<SyntaxTree, "errorAt">): FileFacts {
		const problem =
			errorAt === undefined
				? undefined
				: `line ${this.line(errorAt)}: the syntax is not understood`;
		return {
			status: problem === undefined ? "parsed" : "broken",
			...(problem !== undefined && { problem }),
			isModule: true,
			lines: this.#positions.lines,
			requests: this.#requests,
			bindings: this.bindings,
			exports: this.exports,
			references: this.references,
			looseAccesses: this.looseAccesses,
		};
	}
}

export function imported(from: Omit<Imported, "kind" | "typeOnly">): Imported {
	return { kind: "imported", typeOnly: false, ...from };
}

/** The chain after a call: the next step is looked up on the result. */
export function called(chain: Chain | undefined): Chain | undefined {
	if (!chain) return undefined;
	const last = chain.steps.at(-1);
	if (!last) return { ...chain, side: "instance" };
	return { ...chain, steps: [...chain.steps.slice(0, -1), { ...last, called: true }] };
}

/** The chain that starts at a variable of this type. */
export function chainOf({ binding, side, path = [] }: TypeName): Chain {
	return { bindings: [binding], side, steps: path };
}

/** The type of an expression: its chain without positions. Undefined if it has several bindings. */
export function typeOf(chain: Chain | undefined): TypeName | undefined {
	const [binding, other] = chain?.bindings ?? [];
	if (!chain || binding === undefined || other !== undefined) return undefined;
	const path = chain.steps.map(({ name, called: isCalled }): Step => {
		return isCalled ? { name, called: true } : { name };
	});
	return path.length === 0 ? { binding, side: chain.side } : { binding, side: chain.side, path };
}

export function child(node: SyntaxNode, field: string): SyntaxNode | undefined {
	return node.children.find((one) => one.field === field);
}

export function ofType(node: SyntaxNode, type: string): SyntaxNode | undefined {
	return node.children.find((one) => one.type === type);
}
