import ts from "typescript-5";
import type { EdgeKind } from "../../../src/codeindex/facts.ts";
import { ModuleResolver } from "../../../src/codeindex/resolve/resolver.ts";
import { pathKind } from "../../../src/core/project-path.ts";

/** A project in memory: paths and what the files hold. Folders of `links` in `node_modules` lead to packages. */
export interface MemoryProject {
	readonly files: Readonly<Record<string, string>>;
	readonly links?: Readonly<Record<string, string>>;
}

const root = "/project";

/** Our resolver over the project. */
export function resolverOf({ files }: MemoryProject): ModuleResolver {
	const paths = Object.keys(files).filter((path) => !path.startsWith("node_modules/"));
	return new ModuleResolver({
		root,
		files: new Set(paths.filter((path) => pathKind(path) === "source")),
		configs: new Set(paths.filter((path) => pathKind(path) === "config")),
		readConfig: (path) => files[path],
	});
}

/** The file we find, or `undefined`. */
export function weFind(
	project: MemoryProject,
	from: string,
	specifier: string,
	kinds: readonly EdgeKind[] = ["value"],
): string | undefined {
	const resolution = resolverOf(project).resolve(from, specifier, kinds);
	return resolution.kind === "file" ? resolution.path : undefined;
}

/** The file of the project that TypeScript finds with the configuration at `tsconfig`, or `undefined`. */
export function typescriptFinds(
	project: MemoryProject,
	from: string,
	specifier: string,
	{ tsconfig = "tsconfig.json", mode }: { tsconfig?: string; mode?: "require" } = {},
): string | undefined {
	const { host, options } = prepared(project, tsconfig);
	const file = `${root}/${from}`;
	const isOlder = options.moduleResolution === ts.ModuleResolutionKind.Node10;
	const format = ts.getImpliedNodeFormatForFile(file as ts.Path, undefined, host, options);
	const found = ts.resolveModuleName(
		specifier,
		file,
		options,
		host,
		undefined,
		undefined,
		isOlder ? undefined : mode === "require" ? ts.ModuleKind.CommonJS : format,
	).resolvedModule;
	const path = found?.resolvedFileName.slice(root.length + 1);
	return path === undefined || path.startsWith("node_modules/") || path.endsWith(".json")
		? undefined
		: path;
}

type Prepared = { host: Host; options: ts.CompilerOptions };
const preparedProjects = new WeakMap<MemoryProject, Map<string, Prepared>>();

function prepared(project: MemoryProject, tsconfig: string): Prepared {
	const known = preparedProjects.get(project) ?? new Map<string, Prepared>();
	preparedProjects.set(project, known);
	const host = hostOf(project);
	const made = known.get(tsconfig) ?? { host, options: optionsOf(host, tsconfig) };
	known.set(tsconfig, made);
	return made;
}

function optionsOf(host: ts.ParseConfigHost, tsconfig: string): ts.CompilerOptions {
	const path = `${root}/${tsconfig}`;
	if (!host.fileExists(path)) return { moduleResolution: ts.ModuleResolutionKind.Bundler };
	const { config } = ts.readConfigFile(path, host.readFile);
	const folder = path.slice(0, path.lastIndexOf("/"));
	return ts.parseJsonConfigFileContent(config ?? {}, host, folder, undefined, path).options;
}

type Host = ts.ParseConfigHost & ts.ModuleResolutionHost;

function hostOf({ files, links = {} }: MemoryProject): Host {
	const folders = new Set<string>([""]);
	for (const path of [...Object.keys(files), ...Object.keys(links).map((link) => `${link}/x`)]) {
		const names = path.split("/");
		for (let depth = 1; depth < names.length; depth++) folders.add(names.slice(0, depth).join("/"));
	}
	const inProject = (asked: string) => {
		const path = asked.replace(/\/$/, "");
		const inside = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
		if (inside === undefined) return path === root ? "" : undefined;
		const link = Object.keys(links).find((l) => inside === l || inside.startsWith(`${l}/`));
		return link === undefined ? inside : `${links[link]}${inside.slice(link.length)}`;
	};
	return {
		useCaseSensitiveFileNames: true,
		getCurrentDirectory: () => root,
		fileExists: (path) => Object.hasOwn(files, inProject(path) ?? "\0"),
		readFile: (path) => files[inProject(path) ?? "\0"],
		directoryExists: (path) => folders.has(inProject(path) ?? "\0"),
		getDirectories: () => [],
		readDirectory: () => [],
		realpath: (path) => (inProject(path) === undefined ? path : `${root}/${inProject(path)}`),
	};
}
