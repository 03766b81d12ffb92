import { getOrAdd } from "../../core/get-or-add.ts";
import type { TypeName, UsageKind } from "../facts.ts";
import { dotted, type Key, keyOf, memberKey, moduleName, type Node, type Of } from "./ast.ts";
import { signature } from "./blocks.ts";
import { declareStatements, type Namespace } from "./declare.ts";
import type { Place } from "./facts-builder.ts";
import { memberAlong, typeOfAnnotation, typeOfOwner } from "./receivers.ts";
import { ANY, NAMESPACE, Scope, TYPE, VALUE } from "./scope.ts";
import {
	access,
	forTypes,
	fromName,
	fromType,
	OTHER,
	type Reached,
	record,
	type Visits,
	visitOnly,
	type Walk,
} from "./walk.ts";

export const typeVisits: Visits = {
	TSTypeReference(walk, node: Of<"TSTypeReference">) {
		entity(walk, node.typeName, TYPE, "type");
		walk.visit(node.typeArguments);
	},
	TSClassImplements: heritage("implements"),
	TSInterfaceHeritage: heritage("extends"),
	TSTypeQuery(walk, node: Of<"TSTypeQuery">) {
		if (node.exprName.type === "TSImportType") walk.visit(node.exprName);
		else entity(walk, node.exprName, VALUE, "type");
		walk.visit(node.typeArguments);
	},
	TSImportType(walk, node: Of<"TSImportType">) {
		const { facts } = walk;
		const binding = facts.typeImport(node.source.value, node.source.start);
		let reached: Reached = { binding, side: "value", steps: [] };
		for (const { name, start } of dotted(node.qualifier)) {
			reached = access(facts, reached, { name, start });
		}
		record(facts, reached, "type");
		walk.visit(node.typeArguments);
	},
	TSIndexedAccessType(walk, node: Of<"TSIndexedAccessType">) {
		const { indexType, objectType } = node;
		walk.visit(objectType);
		const owner = fromType(typeOfAnnotation(walk, objectType));
		for (const one of indexType.type === "TSUnionType" ? indexType.types : [indexType]) {
			const key = one.type === "TSLiteralType" ? keyOf(one.literal, true) : undefined;
			if (key) record(walk.facts, access(walk.facts, owner, key), "type");
			else walk.visit(one);
		}
	},
	TSTypePredicate: visitOnly("typeAnnotation"),
	TSNamedTupleMember: visitOnly("elementType"),
	TSPropertySignature(walk, node: Of<"TSPropertySignature">) {
		if (node.computed) walk.visit(node.key);
		walk.visit(node.typeAnnotation);
	},
	TSMethodSignature(walk, node: Of<"TSMethodSignature">) {
		if (node.computed) walk.visit(node.key);
		signature(walk, node);
	},
	TSCallSignatureDeclaration: signature,
	TSConstructSignatureDeclaration: signature,
	TSFunctionType: signature,
	TSConstructorType: signature,
	TSIndexSignature(walk, node: Of<"TSIndexSignature">) {
		for (const parameter of node.parameters) walk.visit(parameter.typeAnnotation);
		walk.visit(node.typeAnnotation);
	},
	TSMappedType(walk, node: Of<"TSMappedType">) {
		walk.visit(node.constraint);
		const scope = new Scope(walk.scope);
		scope.names.set(node.key.name, { kind: "local", meaning: TYPE, scope });
		walk.within(scope, () => {
			walk.visit(node.nameType);
			walk.visit(node.typeAnnotation);
		});
	},
	TSConditionalType(walk, node: Of<"TSConditionalType">) {
		walk.visit(node.checkType);
		// `infer U` is in scope in the condition and its true branch.
		const scope = new Scope(walk.scope);
		walk.within(scope, () => {
			walk.visit(node.extendsType);
			walk.visit(node.trueType);
		});
		walk.visit(node.falseType);
	},
	TSInferType(walk, node: Of<"TSInferType">) {
		const { name, constraint } = node.typeParameter;
		const { scope } = walk;
		scope.names.set(name.name, { kind: "local", meaning: TYPE, scope });
		walk.visit(constraint);
	},
	TSTypeParameter: visitOnly("constraint", "default"),
	TSInterfaceDeclaration: generic("typeParameters", "extends", "body"),
	TSTypeAliasDeclaration: generic("typeParameters", "typeAnnotation"),

	TSModuleDeclaration(walk, node: Of<"TSModuleDeclaration">) {
		const { body } = node;
		if (!body) return;
		const { owner, adds } = ownerOfModule(walk, node);
		walk.within(enterNamespace(walk, body, owner, isAmbient(walk, node)), () => {
			if (owner && adds) for (const one of body.body) addsTo(walk, owner, one);
			walk.visitAll(body.body);
		});
	},
	TSImportEqualsDeclaration(walk, node: Of<"TSImportEqualsDeclaration">) {
		const { moduleReference: typeName } = node;
		if (walk.facts.done.has(node) || typeName.type === "TSExternalModuleReference") return;
		entity(walk, typeName, TYPE, "type");
	},
	...forTypes("ImportDeclaration ExportAllDeclaration TSNamespaceExportDeclaration", visitOnly()),
	ExportNamedDeclaration(walk, node: Of<"ExportNamedDeclaration">) {
		walk.visit(node.declaration);
		// `exportStatement` handles top-level export lists. In a namespace, they re-export outer names.
		if (walk.scope === walk.facts.top || node.source) return;
		for (const { local, exported } of node.specifiers) {
			for (const start of new Set([moduleName(local).start, moduleName(exported).start])) {
				const { name } = moduleName(local);
				const found = walk.scope.lookup(name, ANY);
				const chain = found && fromName(walk.facts, found, { name, start });
				record(walk.facts, chain, "re-export");
			}
		}
	},
	ExportDefaultDeclaration(walk, node: Of<"ExportDefaultDeclaration">) {
		if (node.declaration.type !== "Identifier") walk.visit(node.declaration);
	},
	TSExportAssignment(walk, node: Of<"TSExportAssignment">) {
		if (node.expression.type !== "Identifier") walk.visit(node.expression);
	},
};

function generic(...fields: string[]) {
	const visit = visitOnly(...fields);
	return (walk: Walk, node: Of<"TSInterfaceDeclaration"> | Of<"TSTypeAliasDeclaration">) =>
		walk.within(walk.scope.withTypeParameters(node.typeParameters), () => visit(walk, node));
}

function heritage(usage: UsageKind) {
	return (walk: Walk, node: Of<"TSClassImplements"> | Of<"TSInterfaceHeritage">) => {
		entity(walk, node.expression, TYPE, usage);
		walk.visit(node.typeArguments);
	};
}

function entity(walk: Walk, node: Node, meaning: number, usage: UsageKind): void {
	record(walk.facts, reachEntity(walk, node, meaning), usage);
}

function reachEntity(walk: Walk, node: Node, meaning: number): Reached {
	const { facts, scope } = walk;
	const left = meaning === VALUE ? VALUE : NAMESPACE;
	switch (node.type) {
		case "Identifier": {
			const name = scope.lookup(node.name, meaning);
			return name ? fromName(facts, name, node) : OTHER;
		}
		case "ThisExpression":
			return fromType(scope.enclosing("self"));
		case "TSQualifiedName":
			return access(facts, reachEntity(walk, node.left, left), keyOf(node.right, false) as Key);
		case "MemberExpression": {
			const key = memberKey(node);
			return key ? access(facts, reachEntity(walk, node.object, left), key) : OTHER;
		}
		default:
			return OTHER;
	}
}

/** Declarations of the same namespace share their exported names. */
export function enterNamespace(
	{ facts, scope: outer }: Place,
	body: Of<"TSModuleBlock">,
	owner: TypeName | undefined,
	ambient: boolean,
): Scope {
	const entered = facts.entered.get(body);
	if (entered) return entered;
	let namespace: Namespace | undefined;
	if (owner) {
		const key = [owner.binding, ...(owner.path ?? []).map(({ name }) => name)].join(".");
		const exported = getOrAdd(facts.namespaces, key, () => new Scope(outer));
		namespace = { owner, exported, ambient };
	}
	const scope = new Scope(namespace?.exported ?? outer);
	facts.entered.set(body, scope);
	declareStatements({ facts, scope }, body.body, namespace);
	return scope;
}

export function innerOwner(id: Node, first: TypeName | undefined): TypeName | undefined {
	return memberAlong(first, dotted(id).slice(1));
}

export function isAmbient({ facts }: Place, { declare, body }: Of<"TSModuleDeclaration">): boolean {
	if (!declare && !facts.isDeclaration) return false;
	return !body?.body.some((one) => one.type === "ExportNamedDeclaration" && !one.declaration);
}

function ownerOfModule(
	walk: Walk,
	{ id, kind }: Of<"TSModuleDeclaration">,
): { owner?: TypeName | undefined; adds?: true } {
	if (kind === "global") return {};
	if (id.type === "Literal") {
		// In a module, `declare module "x"` augments another file; in a script it declares a module.
		if (!walk.facts.isModule) return {};
		const binding = walk.facts.typeImport(id.value, id.start);
		return { owner: { binding, side: "value" }, adds: true };
	}
	const [first] = dotted(id);
	return { owner: innerOwner(id, first && typeOfOwner(walk, first.name, NAMESPACE)) };
}

function addsTo({ facts }: Walk, owner: TypeName, statement: Node): void {
	const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
	const id = node && "id" in node ? (node.id as Node | null) : undefined;
	const key = id?.type === "Identifier" && keyOf(id, false);
	if (key) record(facts, access(facts, fromType(owner), key), "declaration");
}
