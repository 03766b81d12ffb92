import type { UsageKind } from "../facts.ts";
import { dotted, type Key, keyOf, type Node, type Of } from "./ast.ts";
import { signature } from "./blocks.ts";
import { access, close, fromName, fromType, OTHER, type Reached } from "./chains.ts";
import { typeImport } from "./draft.ts";
import { typeOfAnnotation } from "./receivers.ts";
import { declareTypeParameters, enclosing, inside, lookup, SPACE, TYPE, VALUE } from "./scope.ts";
import { only, type Visits, type Walk } from "./walk.ts";

export const typeVisits: Visits = {
	TSTypeReference(walk, node: Of<"TSTypeReference">) {
		entity(walk, node.typeName, TYPE, "type");
		walk.visit(node.typeArguments);
	},
	TSClassImplements: (walk, node: Of<"TSClassImplements">) => heritage(walk, node, "implements"),
	TSInterfaceHeritage: (walk, node: Of<"TSInterfaceHeritage">) => heritage(walk, node, "extends"),
	TSTypeQuery(walk, node: Of<"TSTypeQuery">) {
		if (node.exprName.type === "TSImportType") walk.visit(node.exprName);
		else entity(walk, node.exprName, VALUE, "type");
		walk.visit(node.typeArguments);
	},
	TSImportType(walk, node: Of<"TSImportType">) {
		const { draft } = walk;
		const binding = typeImport(draft, node.source.value, node.source.start);
		let reached: Reached = { binding, side: "value", steps: [] };
		for (const { name, start } of dotted(node.qualifier)) {
			reached = access(draft, reached, { name, start });
		}
		close(draft, reached, "type");
		walk.visit(node.typeArguments);
	},
	TSIndexedAccessType(walk, node: Of<"TSIndexedAccessType">) {
		const { indexType, objectType } = node;
		walk.visit(objectType);
		const key = indexType.type === "TSLiteralType" ? keyOf(indexType.literal, true) : undefined;
		if (!key) walk.visit(indexType);
		else {
			const owner = fromType(typeOfAnnotation(walk, objectType));
			if (owner) close(walk.draft, access(walk.draft, owner, key), "type");
		}
	},
	TSTypePredicate: only("typeAnnotation"),
	TSNamedTupleMember: only("elementType"),
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
		const scope = inside(walk.scope);
		scope.names.set(node.key.name, { kind: "local", meaning: TYPE, scope });
		walk.within(scope, () => {
			walk.visit(node.nameType);
			walk.visit(node.typeAnnotation);
		});
	},
	TSConditionalType(walk, node: Of<"TSConditionalType">) {
		walk.visit(node.checkType);
		// `infer U` is in scope in the condition and its true branch.
		const scope = inside(walk.scope);
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
	TSTypeParameter: only("constraint", "default"),
	TSInterfaceDeclaration: generic("typeParameters", "extends", "body"),
	TSTypeAliasDeclaration: generic("typeParameters", "typeAnnotation"),
};

function generic(...fields: string[]) {
	const visit = only(...fields);
	return (walk: Walk, node: Of<"TSInterfaceDeclaration"> | Of<"TSTypeAliasDeclaration">) =>
		walk.within(declareTypeParameters(walk.scope, node.typeParameters), () => visit(walk, node));
}

function heritage(
	walk: Walk,
	node: Of<"TSClassImplements"> | Of<"TSInterfaceHeritage">,
	usage: UsageKind,
): void {
	entity(walk, node.expression, TYPE, usage);
	walk.visit(node.typeArguments);
}

export function entity(walk: Walk, node: Node, meaning: number, usage: UsageKind): void {
	close(walk.draft, reachEntity(walk, node, meaning), usage);
}

function reachEntity(walk: Walk, node: Node, meaning: number): Reached {
	const { draft, scope } = walk;
	const left = meaning === VALUE ? VALUE : SPACE;
	switch (node.type) {
		case "Identifier": {
			const name = lookup(scope, node.name, meaning);
			return name ? fromName(draft, name, node) : OTHER;
		}
		case "ThisExpression":
			return fromType(enclosing(scope, "self"));
		case "TSQualifiedName":
			return access(draft, reachEntity(walk, node.left, left), keyOf(node.right, false) as Key);
		case "MemberExpression": {
			const key = keyOf(node.property, node.computed);
			return key ? access(draft, reachEntity(walk, node.object, left), key) : OTHER;
		}
		default:
			return OTHER;
	}
}
