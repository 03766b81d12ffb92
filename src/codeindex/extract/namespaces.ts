import type { TypeName } from "../facts.ts";
import { dotted, moduleName, type Node, type Of } from "./ast.ts";
import { access, close, fromName, fromType } from "./chains.ts";
import { declareStatements, type Space } from "./declare.ts";
import { type Place, typeImport } from "./draft.ts";
import { member, typeOfOwner } from "./receivers.ts";
import { ANY, inside, lookup, type Scope, SPACE, TYPE } from "./scope.ts";
import { entity } from "./types.ts";
import { only, type Visits, type Walk } from "./walk.ts";

/** Declarations of one namespace share their exported names. */
export function enterSpace(
	{ draft, scope: outer }: Place,
	body: Of<"TSModuleBlock">,
	owner: TypeName | undefined,
	ambient: boolean,
): Scope {
	const entered = draft.entered.get(body);
	if (entered) return entered;
	let space: Space | undefined;
	if (owner) {
		const key = [owner.binding, ...(owner.path ?? []).map(({ name }) => name)].join(".");
		const exported = draft.spaces.get(key) ?? inside(outer);
		draft.spaces.set(key, exported);
		space = { owner, exported, ambient };
	}
	const scope = inside(space?.exported ?? outer);
	draft.entered.set(body, scope);
	declareStatements({ draft, scope }, body.body, space);
	return scope;
}

export function innerOwner(id: Node, first: TypeName | undefined): TypeName | undefined {
	const [, ...inner] = dotted(id);
	return inner.reduce((owner, { name }) => member(owner, name), first);
}

export function isAmbient({ draft }: Place, { declare, body }: Of<"TSModuleDeclaration">): boolean {
	if (!declare && !draft.isDeclaration) return false;
	return !body?.body.some((one) => one.type === "ExportNamedDeclaration" && !one.declaration);
}

export const namespaceVisits: Visits = {
	TSModuleDeclaration(walk, node: Of<"TSModuleDeclaration">) {
		const { body } = node;
		if (!body) return;
		const { owner, adds } = ownerOfModule(walk, node);
		walk.within(enterSpace(walk, body, owner, isAmbient(walk, node)), () => {
			if (owner && adds) for (const one of body.body) addsTo(walk, owner, one);
			walk.visitAll(body.body);
		});
	},
	TSImportEqualsDeclaration(walk, node: Of<"TSImportEqualsDeclaration">) {
		const { moduleReference: typeName } = node;
		if (walk.draft.done.has(node) || typeName.type === "TSExternalModuleReference") return;
		entity(walk, typeName, TYPE, "type");
	},
	ImportDeclaration: only(),
	ExportAllDeclaration: only(),
	ExportNamedDeclaration(walk, node: Of<"ExportNamedDeclaration">) {
		walk.visit(node.declaration);
		// Top-level lists are exports. In a namespace they re-export outer names.
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
	TSNamespaceExportDeclaration: only(),
};

function ownerOfModule(
	walk: Walk,
	{ id, kind }: Of<"TSModuleDeclaration">,
): { owner?: TypeName | undefined; adds?: true } {
	if (kind === "global") return {};
	if (id.type === "Literal") {
		// In a module this augments another file; elsewhere it declares a module.
		if (!walk.draft.isModule) return {};
		const binding = typeImport(walk.draft, id.value, id.start);
		return { owner: { binding, side: "value" }, adds: true };
	}
	const [first] = dotted(id);
	return { owner: innerOwner(id, first && typeOfOwner(walk, first.name, SPACE)) };
}

function addsTo({ draft }: Walk, owner: TypeName, statement: Node): void {
	const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
	const id = node && "id" in node ? (node.id as Node | null) : undefined;
	if (id?.type !== "Identifier") return;
	const { name, start } = id;
	close(draft, access(draft, fromType(owner), { name, start }), "declaration");
}
