import type { EcmaScriptModule } from "oxc-parser";
import { addImport, type Draft, request } from "./draft.ts";

/** Takes imports and exports from what the parser saw before it gave up. Nothing is known of names declared here. */
export function recoverModule(draft: Draft, module: EcmaScriptModule): void {
	for (const { moduleRequest, entries } of module.staticImports) {
		const allTypes = entries.length > 0 && entries.every(({ isType }) => isType);
		const kind = entries.length === 0 ? "side-effect" : allTypes ? "type" : "value";
		const index = request(draft, moduleRequest.value, kind, moduleRequest.start);
		for (const { importName, localName, isType: typeOnly } of entries) {
			const imported =
				importName.kind === "NamespaceObject"
					? "*"
					: importName.kind === "Default"
						? "default"
						: (importName.name ?? "");
			const { value: name, start: at } = localName;
			const start = importName.start;
			const apart = start !== null && start !== at && { importedAt: draft.positions.at(start) };
			addImport(draft, {
				name,
				request: index,
				imported,
				typeOnly,
				at,
				scope: draft.top,
				...apart,
			});
		}
	}
	for (const { entries } of module.staticExports) {
		for (const entry of entries) {
			const { moduleRequest, importName, exportName, isType: typeOnly } = entry;
			if (!moduleRequest) continue;
			const index = request(draft, moduleRequest.value, "re-export", moduleRequest.start);
			if (exportName.kind === "None")
				draft.exports.push({ kind: "star", request: index, typeOnly });
			else {
				const name = exportName.kind === "Default" ? "default" : (exportName.name ?? "");
				const imported = importName.kind === "All" ? "*" : (importName.name ?? "default");
				const starts = new Set([importName.start, exportName.start]);
				const at = [...starts].flatMap((one) => (one === null ? [] : [draft.positions.at(one)]));
				draft.exports.push({ kind: "from", name, request: index, imported, at, typeOnly });
			}
		}
	}
	for (const { moduleRequest } of module.dynamicImports) {
		const text = draft.source.slice(moduleRequest.start, moduleRequest.end);
		const literal = /^(["'`])([^"'`$\\]*)\1$/.exec(text)?.[2];
		if (literal !== undefined) request(draft, literal, "dynamic", moduleRequest.start);
	}
}
