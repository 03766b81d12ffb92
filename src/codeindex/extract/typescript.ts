import type { Language } from "../language.ts";

/** TypeScript and JavaScript. The extractor is this folder, except for the folders of other languages. */
export const typescript: Language = {
	name: "typescript",
	endings: [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"],
	usages: "types",
	countsRelatives: true,
	loadExtract: async () => (await import("./extract.ts")).extractFacts,
	loadResolver: async () => {
		const { ModuleResolver } = await import("../resolve/resolver.ts");
		return (project) => new ModuleResolver(project);
	},
};
