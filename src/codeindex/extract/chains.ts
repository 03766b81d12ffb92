import type { Reference, Step, TypeName, UsageKind } from "../facts.ts";
import type { Identifier, Key } from "./ast.ts";
import type { Draft } from "./draft.ts";
import { MAX_STEPS, typeOfName } from "./receivers.ts";
import { type LocalName, lookup, type Name, TYPE } from "./scope.ts";

/**
 * A name and its member steps, not yet a reference. Without a position it came from a type, and
 * counts only if a written step follows.
 */
export interface Chain {
	readonly binding: number;
	readonly start?: number;
	readonly side: "instance" | "value";
	readonly steps: readonly Link[];
	readonly ending?: "call" | "new";
}

interface Link {
	readonly name: string;
	readonly start?: number;
	readonly called?: true;
}

/** Not a binding of the file: a literal or a runtime object. */
export const OTHER = "other";

const NO_STEPS: readonly Link[] = [];

export type Reached = Chain | typeof OTHER | undefined;

export function fromName(draft: Draft, name: Name, id: Identifier): Reached {
	if (name.kind === "binding") {
		return { binding: name.binding, start: id.start, side: "value", steps: NO_STEPS };
	}
	if (name.kind === "member") {
		const { binding, side, path = [] } = name.owner;
		return { binding, side, steps: [...path, { name: name.name, start: id.start }] };
	}
	return fromType(typeOfName(draft, name)) ?? (isOfRuntime(name) ? OTHER : undefined);
}

/** Whether the type is declared in no file: `string`, `Foo[]`, `Map<string, Foo>`. */
function isOfRuntime({ value, scope }: LocalName): boolean {
	const type = value?.path ? undefined : value?.annotation;
	if (type?.type !== "TSTypeReference") return type !== undefined && RUNTIME_TYPES.has(type.type);
	return type.typeName.type === "Identifier" && !lookup(scope, type.typeName.name, TYPE);
}

const RUNTIME_TYPES = new Set([
	...["TSStringKeyword", "TSNumberKeyword", "TSBooleanKeyword"],
	...["TSArrayType", "TSTupleType", "TSTypeOperator"],
]);

export function fromType(type: TypeName | undefined): Chain | undefined {
	return type && { binding: type.binding, side: type.side, steps: type.path ?? NO_STEPS };
}

/** On an unknown receiver only the name is counted. */
export function access(draft: Draft, chain: Reached, key: Key): Reached {
	if (chain === OTHER) return OTHER;
	if (!chain || chain.steps.length >= MAX_STEPS) {
		if (chain) close(draft, chain, "read");
		draft.looseAccesses.set(key.name, (draft.looseAccesses.get(key.name) ?? 0) + 1);
		return undefined;
	}
	// The call itself is already recorded; the next step is looked up on its result.
	const { binding, start, side, steps } = chain.ending ? called(draft, chain) : chain;
	const further = [...steps, key];
	return start === undefined
		? { binding, side, steps: further }
		: { binding, start, side, steps: further };
}

export function call(draft: Draft, chain: Reached, ending: "call" | "new"): Reached {
	if (!chain || chain === OTHER) return chain;
	if (chain.ending) {
		// The type of a result's result is unknown.
		close(draft, chain, "read");
		return undefined;
	}
	if (chain.steps.length === 0 && chain.start === undefined) {
		return chain.side === "value" ? { ...chain, side: "instance" } : undefined;
	}
	return { ...chain, ending };
}

export function close(draft: Draft, chain: Reached, usage: UsageKind): void {
	if (!chain || chain === OTHER) return;
	const { binding, start, side, steps, ending } = chain;
	const { positions, references } = draft;
	const at = start === undefined ? undefined : positions.at(start);
	const use: Reference = at
		? { binding, at, usage: ending ?? usage }
		: { binding, usage: ending ?? usage };
	if (steps.length === 0) {
		if (at) references.push(use);
		return;
	}
	if (!at && steps.every((step) => step.start === undefined)) return;
	references.push({ ...use, side, steps: steps.map((step) => placed(draft, step)) });
}

function called(draft: Draft, chain: Chain): Chain {
	const last = chain.steps.at(-1);
	if (last) return { ...chain, steps: [...chain.steps.slice(0, -1), { ...last, called: true }] };
	close(draft, chain, "read");
	return { binding: chain.binding, side: "instance", steps: [] };
}

function placed({ positions }: Draft, { name, start, called }: Link): Step {
	if (start === undefined) return called ? { name, called } : { name };
	const at = positions.at(start);
	return called ? { name, at, called } : { name, at };
}
