import { visitorKeys } from "oxc-parser";
import type { Reference, Step, TypeName, UsageKind } from "../facts.ts";
import { annotationOf, type Key, keyOf, type Node, nodesIn, type Of } from "./ast.ts";
import type { FactsBuilder } from "./facts-builder.ts";
import { MAX_STEPS, member, typeOfAnnotation, typeOfName, typeOfValue } from "./receivers.ts";
import { type LocalName, type LocalValue, type Name, type Scope, TYPE } from "./scope.ts";

/** Visits nodes and records references. `scope` is the current scope. */
export class Walk {
	readonly facts: FactsBuilder;
	scope: Scope;
	/** Return type of the enclosing function. */
	result: TypeName | undefined;
	readonly #visits: Visits;
	readonly #reach: (walk: Walk, node: Node) => Reached;

	constructor(facts: FactsBuilder, visits: Visits, reach: (walk: Walk, node: Node) => Reached) {
		this.facts = facts;
		this.scope = facts.top;
		this.#visits = visits;
		this.#reach = reach;
	}

	/** An expression counts as read. */
	visit(node: Node | null | undefined): void {
		if (!node) return;
		const visit = this.#visits[node.type] as ((walk: Walk, node: Node) => void) | undefined;
		if (visit) visit(this, node);
		else this.visitParts(node);
	}

	visitAll(nodes: readonly (Node | null)[] | null | undefined): void {
		if (nodes) for (const node of nodes) if (node) this.visit(node);
	}

	visitParts(node: Node): void {
		const parts = node as unknown as Record<string, Node | (Node | null)[] | null | undefined>;
		for (const key of visitorKeys[node.type] ?? []) {
			const part = parts[key];
			if (Array.isArray(part)) this.visitAll(part);
			else if (part) this.visit(part);
		}
	}

	use(node: Node | null | undefined, usage: UsageKind): void {
		if (node) record(this.facts, this.reach(node), usage);
	}

	reach(node: Node): Reached {
		return this.#reach(this, node);
	}

	within(scope: Scope, visit: () => void): void {
		const outer = this.scope;
		this.scope = scope;
		visit();
		this.scope = outer;
	}
}

/** Visitors by node type. If a node has no visitor, all its children are visited. */
export type Visits = Readonly<Record<string, Visit | undefined>>;
type Visit = (walk: Walk, node: never) => void;

export function forTypes(types: string, visit: Visit): Visits {
	return Object.fromEntries(types.split(" ").map((type) => [type, visit]));
}

export function visitOnly(...fields: string[]): (walk: Walk, node: Node) => void {
	return (walk, node) => walk.visitAll(nodesIn(node, fields));
}

/** A binding and its member accesses. Without `start`, the binding is a receiver's type and has steps. */
export interface Chain {
	readonly binding: number;
	readonly start?: number | undefined;
	readonly side: "instance" | "value";
	readonly steps: readonly Link[];
	/** Set if the chain ends in a call or construction. */
	readonly invoked?: "call" | "new";
}

interface Link {
	readonly name: string;
	readonly start?: number;
	readonly called?: true;
}

/** Stands for an expression without a binding: a literal or a runtime object. */
export const OTHER = "other";

const NO_STEPS: readonly Link[] = [];

export type Reached = Chain | typeof OTHER | undefined;

export function fromName(facts: FactsBuilder, name: Name, id: Key): Reached {
	if (name.kind === "binding") {
		return { binding: name.binding, start: id.start, side: "value", steps: NO_STEPS };
	}
	if (name.kind === "member") {
		const { binding, side, path = [] } = name.owner;
		return { binding, side, steps: [...path, { name: name.name, start: id.start }] };
	}
	return fromType(typeOfName(facts, name)) ?? (isOfRuntime(name) ? OTHER : undefined);
}

/** Whether the type is built in: `string`, `Foo[]`, `Map<string, Foo>`. */
function isOfRuntime({ value, scope }: LocalName): boolean {
	const type = value?.path ? undefined : value?.annotation;
	if (type?.type !== "TSTypeReference") return type !== undefined && RUNTIME_TYPES.has(type.type);
	return type.typeName.type === "Identifier" && !scope.lookup(type.typeName.name, TYPE);
}

const RUNTIME_TYPES = new Set(
	"TSStringKeyword TSNumberKeyword TSBooleanKeyword TSArrayType TSTupleType TSTypeOperator".split(
		" ",
	),
);

export function fromType(type: TypeName | undefined): Chain | undefined {
	return type && { binding: type.binding, side: type.side, steps: type.path ?? NO_STEPS };
}

/** If the receiver is unknown or has too many steps, only counts the member's name. */
export function access(facts: FactsBuilder, chain: Reached, key: Key): Reached {
	if (chain === OTHER) return OTHER;
	if (!chain || chain.steps.length >= MAX_STEPS) {
		if (chain) record(facts, chain, "read");
		facts.looseAccesses.set(key.name, (facts.looseAccesses.get(key.name) ?? 0) + 1);
		return undefined;
	}
	// After a call, the next step is looked up on the result.
	const { binding, start, side, steps } = chain.invoked ? asCalled(facts, chain) : chain;
	return { binding, start, side, steps: [...steps, key] };
}

export function call(facts: FactsBuilder, chain: Reached, invoked: "call" | "new"): Reached {
	if (!chain || chain === OTHER) return chain;
	if (chain.invoked) {
		// For `a()()`, the type of the second result is unknown.
		record(facts, chain, "read");
		return undefined;
	}
	if (chain.steps.length === 0 && chain.start === undefined) {
		return chain.side === "value" ? { ...chain, side: "instance" } : undefined;
	}
	return { ...chain, invoked };
}

export function record(facts: FactsBuilder, chain: Reached, usage: UsageKind): void {
	if (!chain || chain === OTHER) return;
	const { binding, start, side, steps, invoked } = chain;
	const { positions, references } = facts;
	const at = start === undefined ? undefined : positions.at(start);
	const use: Reference = at
		? { binding, at, usage: invoked ?? usage }
		: { binding, usage: invoked ?? usage };
	if (steps.length === 0) {
		if (at) references.push(use);
		return;
	}
	if (!at && steps.every((step) => step.start === undefined)) return;
	references.push({ ...use, side, steps: steps.map((step) => withPosition(facts, step)) });
}

function asCalled(facts: FactsBuilder, chain: Chain): Chain {
	const last = chain.steps.at(-1);
	if (last) return { ...chain, steps: [...chain.steps.slice(0, -1), { ...last, called: true }] };
	record(facts, chain, "read");
	return { binding: chain.binding, side: "instance", steps: [] };
}

function withPosition({ positions }: FactsBuilder, { name, start, called }: Link): Step {
	if (start === undefined) return called ? { name, called } : { name };
	const at = positions.at(start);
	return called ? { name, at, called } : { name, at };
}

export function visitPattern(walk: Walk, node: Node, value: LocalValue = {}): void {
	const whole = node.type === "AssignmentPattern" ? node.left : node;
	if (whole.type === "ObjectPattern") destructure(walk, whole, value);
	patternParts(walk, node, (id) => {
		if (id.type === "Identifier") walk.visitAll(id.decorators);
		walk.visit(annotationOf(id));
	});
}

export function destructure(walk: Walk, node: Of<"ObjectPattern">, value: LocalValue): void {
	const annotation = annotationOf(node);
	const type = annotation ? typeOfAnnotation(walk, annotation) : typeOfValue(walk, value);
	readProperties(walk, node, type);
}

function readProperties(walk: Walk, node: Of<"ObjectPattern">, type: TypeName | undefined): void {
	const { facts } = walk;
	for (const property of node.properties) {
		if (property.type === "RestElement") continue;
		const key = keyOf(property.key, property.computed);
		if (!key) continue;
		record(facts, access(facts, fromType(type), key), "read");
		const { value } = property;
		const inner: Node = value.type === "AssignmentPattern" ? value.left : value;
		if (inner.type === "ObjectPattern") readProperties(walk, inner, member(type, key.name));
	}
}

export function assign(walk: Walk, target: Node): void {
	patternParts(walk, target, (id) => walk.use(id, "write"));
}

function patternParts(walk: Walk, node: Node, leaf: (node: Node) => void): void {
	switch (node.type) {
		case "AssignmentPattern":
			walk.visitAll(node.decorators);
			patternParts(walk, node.left, leaf);
			walk.visit(node.right);
			return;
		case "RestElement":
			patternParts(walk, node.argument, leaf);
			walk.visit(annotationOf(node));
			return;
		case "TSParameterProperty":
			walk.visitAll(node.decorators);
			patternParts(walk, node.parameter, leaf);
			return;
		case "ArrayPattern":
			for (const element of node.elements) {
				if (!element) continue;
				const inner = element.type === "AssignmentPattern" ? element.left : element;
				if (inner.type === "ObjectPattern") readProperties(walk, inner, undefined);
				patternParts(walk, element, leaf);
			}
			walk.visit(annotationOf(node));
			return;
		case "ObjectPattern":
			walk.visitAll(node.decorators);
			for (const property of node.properties) {
				if (property.type === "Property" && property.computed) walk.visit(property.key);
				patternParts(walk, property.type === "Property" ? property.value : property, leaf);
			}
			walk.visit(annotationOf(node));
			return;
		default:
			leaf(node);
	}
}
