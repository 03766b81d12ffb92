/** Members that statements add to a declared name: `A.prototype.b = …`, `a.b = …`, `A.prototype = { … }`. */
import type { TypeName } from "../facts.ts";
import {
	isFunction,
	isFunctionDeclaration,
	isNamed,
	type Key,
	keyOf,
	memberKey,
	type Node,
	unwrap,
} from "./ast.ts";
import { isTyped } from "./bindings.ts";
import { exportsAccess } from "./exports.ts";
import type { FactsBuilder, PendingBinding } from "./facts-builder.ts";
import { instanceOf } from "./receivers.ts";

/** One member or, without a key, what is added to the name or to its prototype as a whole. */
export interface Assigned {
	readonly key?: Key;
	/** The assignment or call. */
	readonly node: Node;
	readonly value?: Node;
	/** Whether instances have it. */
	readonly ofInstances: boolean;
	/** Type of the value, if it is the prototype: `A.fn = A.prototype = { … }`. */
	readonly type?: TypeName | undefined;
}

type BindingOf = (name: string) => number | undefined;

/** All top-level names must be declared, but not yet described. */
export function noteAssignedMembers(facts: FactsBuilder, statements: readonly Node[]): void {
	const ofTop: BindingOf = (name) => facts.top.bindingOf(name);
	noteIn(facts, statements, ofTop);
	for (const [inner, names] of facts.innerBindings) {
		noteIn(facts, inner, (name) => names.get(name) ?? ofTop(name));
	}
}

function noteIn(facts: FactsBuilder, statements: readonly Node[], bindingOf: BindingOf): void {
	for (const statement of statements) {
		if (statement.type !== "ExpressionStatement") continue;
		const { expression } = statement;
		const all = expression.type === "SequenceExpression" ? expression.expressions : [expression];
		for (const one of all) {
			if (one.type === "AssignmentExpression") noteAssignment(facts, one, bindingOf);
			else if (one.type === "CallExpression") noteCall(facts, one, bindingOf);
		}
	}
}

/** `a.b = A.prototype.c = value` has several targets. */
function noteAssignment(facts: FactsBuilder, expression: Node, bindingOf: BindingOf): void {
	const value = unwrap(expression);
	let type: TypeName | undefined;
	const found: (Target & Pick<Assigned, "node">)[] = [];
	for (let node = expression; node.type === "AssignmentExpression"; node = node.right) {
		if (node.operator !== "=") return;
		const target = targetOf(facts, node.left, bindingOf);
		if (target) found.push({ ...target, node });
		if (target && !target.key) type = instanceOf({ binding: target.binding, side: "value" });
	}
	for (const { binding, key, node, ofInstances } of found) {
		if (key) note(facts, binding, { key, node, value, ofInstances, type });
		else note(facts, binding, { node, value, ofInstances });
	}
}

/** `Object.assign(A.prototype, { … })`, `Object.defineProperty(a, "b", { … })` */
function noteCall(facts: FactsBuilder, node: Node, bindingOf: BindingOf): void {
	if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return;
	if (!isNamed(node.callee.object, "Object")) return;
	const [object, ...others] = node.arguments;
	const owner = object && ownerOf(facts, object, bindingOf);
	if (!owner) return;
	switch (memberKey(node.callee)?.name) {
		case "assign":
			for (const value of others) note(facts, owner.binding, { ...owner, node, value });
			return;
		case "defineProperty": {
			const key = others[0] && keyOf(others[0], true);
			if (key) note(facts, owner.binding, { ...owner, key, node });
		}
	}
}

function note(facts: FactsBuilder, binding: number, one: Assigned): void {
	const { key, value, ofInstances } = one;
	const pending = facts.bindings[binding];
	if (pending?.kind !== "pending" || !mayHave(facts, pending, ofInstances)) return;
	const known = facts.assigned.get(binding);
	if (known) known.push(one);
	else facts.assigned.set(binding, [one]);
	const owner: TypeName = { binding, side: "value" };
	const self = (ofInstances ? instanceOf(owner) : owner) as TypeName;
	if (isFunction(value)) facts.selves.set(value, self);
	else if (!key && value?.type === "ObjectExpression") facts.owners.set(value, self);
}

interface Owner {
	readonly binding: number;
	readonly ofInstances: boolean;
}

interface Target extends Owner {
	/** Absent for the prototype itself. */
	readonly key?: Key;
}

function targetOf(facts: FactsBuilder, left: Node, bindingOf: BindingOf): Target | undefined {
	if (left.type !== "MemberExpression") return undefined;
	const whole = ownerOf(facts, left, bindingOf);
	if (whole?.ofInstances) return whole;
	const key = memberKey(left);
	const owner = ownerOf(facts, left.object, bindingOf);
	const isMember = key && !key.name.startsWith("#") && key.name !== "__proto__";
	return owner && isMember ? { ...owner, key } : undefined;
}

/** `A`, `exports.A`, and the `prototype` of both. */
function ownerOf(facts: FactsBuilder, node: Node, bindingOf: BindingOf): Owner | undefined {
	const isPrototype = memberKey(node)?.name === "prototype";
	const plain = isPrototype && node.type === "MemberExpression" ? node.object : node;
	const exported = exportsAccess(facts.top, plain)?.key;
	const binding =
		plain.type === "Identifier"
			? bindingOf(plain.name)
			: exported && facts.commonJsNames.get(exported.name);
	return binding === undefined ? undefined : { binding, ofInstances: isPrototype };
}

/** As in TypeScript: functions have statics; in JavaScript also classes, and objects that are made here. */
function mayHave(
	facts: FactsBuilder,
	{ declarations }: PendingBinding,
	ofInstances: boolean,
): boolean {
	return declarations.some((one) => {
		const { node } = one;
		const value = node.type === "VariableDeclarator" ? node.init && unwrap(node.init) : node;
		if (!value || one.path || isTyped(facts, one)) return false;
		if (isFunction(value) || isFunctionDeclaration(value))
			return facts.isJavaScript || !ofInstances;
		if (!facts.isJavaScript) return false;
		if (value.type === "ClassDeclaration" || value.type === "ClassExpression") return true;
		return !ofInstances && isMadeHere(value);
	});
}

/** `{}`, `Object.create(…)`, `a || {}`. */
function isMadeHere(value: Node): boolean {
	if (value.type === "ObjectExpression") return true;
	if (value.type === "LogicalExpression") return unwrap(value.right).type === "ObjectExpression";
	if (value.type !== "CallExpression" || value.callee.type !== "MemberExpression") return false;
	return isNamed(value.callee.object, "Object") && memberKey(value.callee)?.name === "create";
}
