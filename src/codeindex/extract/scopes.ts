import type { TypeName } from "../facts.ts";
import { type ClassNode, type FunctionNode, keyOf, type Node, type Of } from "./ast.ts";
import { access, close, fromName, fromType } from "./chains.ts";
import { declareStatements, eachName, firstName, isAmbient, moduleName } from "./declare.ts";
import { destructure } from "./destructure.ts";
import { namelessImport, request } from "./draft.ts";
import { assign } from "./expressions.ts";
import { expect } from "./objects.ts";
import { given, member, typeOfAnnotation, typeOfExpression } from "./receivers.ts";
import {
	ANY,
	declareLocal,
	declareTypeParameters,
	inside,
	type LocalValue,
	lookup,
	type Scope,
	SPACE,
	TYPE,
	VALUE,
} from "./scope.ts";
import { enterSpace, innerOwner } from "./spaces.ts";
import type { Visits, Walk } from "./walk.ts";

/** Everything that has names of its own, and the statements that declare them. */
export const scopeVisits: Visits = {
	FunctionDeclaration: functionLike,
	FunctionExpression: functionLike,
	ArrowFunctionExpression: functionLike,
	TSDeclareFunction: functionLike,
	TSEmptyBodyFunctionExpression: functionLike,
	BlockStatement: (walk, node: Of<"BlockStatement">) => block(walk, node.body),
	StaticBlock: (walk, node: Of<"StaticBlock">) => block(walk, node.body, true),
	SwitchStatement(walk, node: Of<"SwitchStatement">) {
		walk.visit(node.discriminant);
		const statements = node.cases.flatMap((one) => one.consequent);
		inBlock(walk, statements, () => walk.visitAll(node.cases));
	},
	ForStatement(walk, node: Of<"ForStatement">) {
		inBlock(walk, node.init ? [node.init] : [], () => walk.visitParts(node));
	},
	ForInStatement: loop,
	ForOfStatement: loop,
	CatchClause(walk, node: Of<"CatchClause">) {
		const scope = inside(walk.scope);
		if (node.param) declareParameter(walk, scope, node.param);
		walk.within(scope, () => {
			if (node.param) pattern(walk, node.param);
			walk.visit(node.body);
		});
	},
	VariableDeclaration(walk, node: Of<"VariableDeclaration">) {
		for (const declarator of node.declarations) {
			if (walk.draft.done.has(declarator)) continue;
			const { id, init } = declarator;
			if ("typeAnnotation" in id && id.typeAnnotation) {
				expect(walk.draft, init, typeOfAnnotation(walk.draft, walk.scope, id.typeAnnotation));
			}
			pattern(walk, id, { init: init ?? undefined });
			walk.visit(init);
		}
	},
	ReturnStatement(walk, node: Of<"ReturnStatement">) {
		expect(walk.draft, node.argument, walk.result);
		walk.visit(node.argument);
	},
	ClassDeclaration: classLike,
	ClassExpression: classLike,
	MethodDefinition: classMember,
	TSAbstractMethodDefinition: classMember,
	PropertyDefinition: classMember,
	TSAbstractPropertyDefinition: classMember,
	AccessorProperty: classMember,
	TSAbstractAccessorProperty: classMember,
	TSEnumDeclaration(walk, node: Of<"TSEnumDeclaration">) {
		const owner = ownType(walk, node.id.name, VALUE);
		const scope = inside(walk.scope);
		for (const { id } of node.body.members) {
			const key = keyOf(id, false);
			if (!key) continue;
			const { name } = key;
			if (owner) scope.names.set(name, { kind: "member", meaning: VALUE, owner, name });
			else declareLocal(scope, { ...key, end: key.start }, VALUE);
		}
		walk.within(scope, () => {
			for (const one of node.body.members) walk.visit(one.initializer);
		});
	},
	TSModuleDeclaration: moduleLike,
	TSImportEqualsDeclaration(walk, node: Of<"TSImportEqualsDeclaration">) {
		const { moduleReference } = node;
		if (walk.draft.done.has(node)) return;
		if (moduleReference.type !== "TSExternalModuleReference") {
			walk.visit({
				type: "TSTypeReference",
				typeName: moduleReference,
				typeArguments: null,
			} as unknown as Node);
		}
	},
	ImportDeclaration: () => undefined,
	ExportAllDeclaration: () => undefined,
	ExportNamedDeclaration(walk, node: Of<"ExportNamedDeclaration">) {
		walk.visit(node.declaration);
		// The top level's lists are exports. A namespace's pass names of its surroundings on.
		if (walk.scope === walk.draft.top || node.source) return;
		for (const { local, exported } of node.specifiers) {
			for (const start of new Set([moduleName(local).start, moduleName(exported).start])) {
				const { name } = moduleName(local);
				const found = lookup(walk.scope, name, ANY);
				const chain = found && fromName(walk.draft, found, { name, start, end: start });
				close(walk.draft, chain, "re-export");
			}
		}
	},
	ExportDefaultDeclaration(walk, node: Of<"ExportDefaultDeclaration">) {
		if (node.declaration.type !== "Identifier") walk.visit(node.declaration);
	},
	TSExportAssignment(walk, node: Of<"TSExportAssignment">) {
		if (node.expression.type !== "Identifier") walk.visit(node.expression);
	},
	TSNamespaceExportDeclaration: () => undefined,
};

/** Visits a signature without a body. */
export function signature(
	walk: Walk,
	node: Of<"TSMethodSignature"> | Of<"TSFunctionType"> | Of<"TSConstructorType">,
): void {
	const scope = inside(declareTypeParameters(walk.scope, node.typeParameters));
	for (const parameter of node.params) declareParameter(walk, scope, parameter);
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		for (const parameter of node.params) pattern(walk, parameter);
		walk.visit(node.returnType);
	});
}

function functionLike(walk: Walk, node: FunctionNode): void {
	const { draft } = walk;
	const isArrow = node.type === "ArrowFunctionExpression";
	const outer = declareTypeParameters(walk.scope, node.typeParameters);
	const annotated = node.params.find((one) => one.type === "Identifier" && one.name === "this");
	const self = annotated && "typeAnnotation" in annotated ? annotated.typeAnnotation : undefined;
	const scope = inside(outer, {
		isFunction: true,
		...(self
			? { self: typeOfAnnotation(draft, outer, self) ?? null }
			: !isArrow && !draft.methods.has(node) && { self: null, base: null }),
	});
	if (node.type === "FunctionExpression" && node.id) declareLocal(scope, node.id, VALUE);
	const first = draft.given.get(node);
	const outerResult = walk.result;
	const known = (index: number): LocalValue => (index === 0 && first ? { given: first } : {});
	node.params.forEach((parameter, index) => {
		declareParameter(walk, scope, parameter, known(index));
	});
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		node.params.forEach((parameter, index) => {
			pattern(walk, parameter, known(index));
		});
		walk.visit(node.returnType);
		walk.result = node.returnType ? typeOfAnnotation(draft, scope, node.returnType) : undefined;
		if (isArrow) expect(draft, node.body, walk.result);
		if (node.body?.type === "BlockStatement") block(walk, node.body.body, true);
		else walk.visit(node.body);
	});
	walk.result = outerResult;
}

function declareParameter(walk: Walk, scope: Scope, parameter: Node, value: LocalValue = {}): void {
	const { self } = walk.scope;
	if (parameter.type === "TSParameterProperty" && self) {
		// Inside the constructor the name is the property's as well.
		eachName(parameter, value, ({ name }) => {
			scope.names.set(name, { kind: "member", meaning: VALUE, owner: self, name });
		});
		return;
	}
	eachName(parameter, value, (id, local) => declareLocal(scope, id, VALUE, local));
}

/** Visits what a declared pattern uses: types, defaults, computed keys, and the properties it takes. */
function pattern(walk: Walk, node: Node, value: LocalValue = {}): void {
	const whole = node.type === "AssignmentPattern" ? node.left : node;
	if (whole.type === "ObjectPattern") destructure(walk, whole, value);
	patternParts(walk, node);
}

function patternParts(walk: Walk, node: Node): void {
	switch (node.type) {
		case "Identifier":
			walk.visitAll(node.decorators);
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
			return;
		case "AssignmentPattern":
			walk.visitAll(node.decorators);
			patternParts(walk, node.left);
			walk.visit(node.right);
			return;
		case "RestElement":
			patternParts(walk, node.argument);
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
			return;
		case "TSParameterProperty":
			walk.visitAll(node.decorators);
			patternParts(walk, node.parameter);
			return;
		case "ArrayPattern":
			for (const element of node.elements) if (element) patternParts(walk, element);
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
			return;
		case "ObjectPattern":
			walk.visitAll(node.decorators);
			for (const property of node.properties) {
				if (property.type === "RestElement") patternParts(walk, property);
				else {
					if (property.computed) walk.visit(property.key);
					patternParts(walk, property.value);
				}
			}
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
	}
}

function block(walk: Walk, statements: readonly Node[], isFunction = false): void {
	inBlock(walk, statements, () => walk.visitAll(statements), isFunction);
}

function inBlock(
	walk: Walk,
	statements: readonly Node[],
	visit: () => void,
	isFunction = false,
): void {
	const scope = inside(walk.scope, { isFunction });
	declareStatements(walk.draft, scope, statements);
	if (scope.names.size > 0) walk.within(scope, visit);
	else visit();
}

function loop(walk: Walk, node: Of<"ForOfStatement"> | Of<"ForInStatement">): void {
	walk.visit(node.right);
	const { left } = node;
	if (left.type !== "VariableDeclaration") {
		assign(walk, left, "write");
		walk.visit(node.body);
		return;
	}
	const scope = inside(walk.scope);
	const id = left.declarations[0]?.id;
	const value: LocalValue =
		node.type === "ForOfStatement" ? { init: node.right, element: true } : {};
	if (left.kind !== "var" && id) {
		eachName(id, value, (name, local) => declareLocal(scope, name, VALUE, local));
	}
	walk.within(scope, () => {
		if (id) pattern(walk, id, value);
		walk.visit(node.body);
	});
}

function classLike(walk: Walk, node: ClassNode): void {
	const { draft } = walk;
	const isExpression = node.type === "ClassExpression";
	const outer = isExpression && node.id ? inside(walk.scope) : walk.scope;
	if (isExpression && node.id) declareLocal(outer, node.id, VALUE | TYPE);
	const own = draft.owners.get(node) ?? (node.id ? ownType(walk, node.id.name, VALUE) : undefined);
	walk.visitAll(node.decorators);
	const scope = declareTypeParameters(outer, node.typeParameters);
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		walk.use(node.superClass, "extends");
		walk.visit(node.superTypeArguments);
		walk.visitAll(node.implements);
		const base = node.superClass ? typeOfExpression(draft, scope, node.superClass) : undefined;
		const instance = inside(scope, { self: given(own) ?? null, base: given(base) ?? null });
		const statics = inside(scope, { self: own ?? null, base: base ?? null });
		for (const one of node.body.body) {
			const isStatic = one.type === "StaticBlock" || ("static" in one && one.static);
			walk.within(isStatic ? statics : instance, () => walk.visit(one));
		}
	});
}

function classMember(walk: Walk, node: Of<"MethodDefinition"> | Of<"PropertyDefinition">): void {
	walk.visitAll(node.decorators);
	if (node.computed) walk.visit(node.key);
	if (node.type === "PropertyDefinition" || "typeAnnotation" in node) {
		walk.visit((node as Of<"PropertyDefinition">).typeAnnotation);
	}
	const { value } = node;
	if (!value) return;
	if (node.type === "PropertyDefinition" && node.typeAnnotation) {
		expect(walk.draft, value, typeOfAnnotation(walk.draft, walk.scope, node.typeAnnotation));
	}
	if (value.type === "FunctionExpression" || value.type === "TSEmptyBodyFunctionExpression") {
		if (node.type !== "PropertyDefinition") walk.draft.methods.add(value);
	}
	walk.visit(value);
}

/** What a class, enum or namespace is to its inside: a binding or a member of one. */
function ownType(walk: Walk, name: string, meaning: number): TypeName | undefined {
	const found = lookup(walk.scope, name, meaning);
	if (found?.kind === "binding") return { binding: found.binding, side: "value" };
	return found?.kind === "member" ? member(found.owner, found.name) : undefined;
}

function moduleLike(walk: Walk, node: Of<"TSModuleDeclaration">): void {
	const { draft } = walk;
	const { body } = node;
	if (!body) return;
	const { owner, adds } = ownerOfModule(walk, node);
	const scope = enterSpace(draft, walk.scope, body, owner, isAmbient(draft, node));
	walk.within(scope, () => {
		if (owner && adds) for (const one of body.body) addsTo(walk, owner, one);
		walk.visitAll(body.body);
	});
}

/** What the names inside belong to, and whether that is declared in another file. */
function ownerOfModule(
	walk: Walk,
	node: Of<"TSModuleDeclaration">,
): { owner?: TypeName | undefined; adds?: true } {
	const { draft } = walk;
	const { id } = node;
	if (node.kind === "global") return {};
	if (id.type === "Literal") {
		// In a module it adds to what another file declares; elsewhere it declares a module of that name.
		if (!draft.isModule) return {};
		const index = request(draft, id.value, "type", id.start);
		return {
			owner: { binding: namelessImport(draft, index, "*", id.start), side: "value" },
			adds: true,
		};
	}
	const first = firstName(id);
	return { owner: innerOwner(id, first && ownType(walk, first.name, SPACE)) };
}

/** Notes that a declaration adds to one of another file. */
function addsTo(walk: Walk, owner: TypeName, statement: Node): void {
	const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
	const id = node && "id" in node ? (node.id as Node | null) : undefined;
	if (id?.type !== "Identifier") return;
	const { name, start } = id;
	close(walk.draft, access(walk.draft, fromType(owner), { name, start }), "declaration");
}
