import { isBuiltin } from "node:module";
import { getOrAdd } from "../../core/get-or-add.ts";
import { folderOf, joinPath, nameOf, restBelow } from "../../core/project-path.ts";
import type { Symlink } from "../scan/scanned-tree.ts";

type SpecifierKind =
	| { readonly kind: "relative"; readonly folderOnly: boolean }
	| { readonly kind: "absolute" }
	/** A URL or a virtual module: `node:fs`, `bun:test`, `virtual:pages`. */
	| { readonly kind: "scheme"; readonly name: string }
	/** `packageName` is set only if it is a valid name. */
	| { readonly kind: "bare"; readonly packageName?: string; readonly subpath: string }
	| { readonly kind: "invalid"; readonly reason: string };

export function specifierKind(specifier: string): SpecifierKind {
	if (specifier === "") return { kind: "invalid", reason: "the specifier is empty" };
	if (specifier.length > MAX_LENGTH) {
		return { kind: "invalid", reason: `the specifier is longer than ${MAX_LENGTH} characters` };
	}
	if (specifier.includes("\0")) {
		return { kind: "invalid", reason: "the specifier contains a NUL character" };
	}
	if (specifier.startsWith(".")) {
		const [, relative, end] = /^(\.\.?)(?:$|\/(?:.*\/)?([^/]*)$)/s.exec(specifier) ?? [];
		if (relative !== undefined) {
			const folderOnly = end === undefined || end === "" || end === "." || end === "..";
			return { kind: "relative", folderOnly };
		}
	}
	if (specifier.startsWith("/")) return { kind: "absolute" };
	const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(specifier)?.[1];
	if (scheme !== undefined) return { kind: "scheme", name: schemeName(specifier, scheme) };
	const [, packageName, rest] = PACKAGE_SPECIFIER.exec(specifier) ?? [];
	if (packageName === undefined) return { kind: "bare", subpath: "." };
	return { kind: "bare", packageName, subpath: rest ? `./${rest}` : "." };
}

/** Returns `node:fs` for `fs` and for `node:fs`. */
export function builtinName(specifier: string): string | undefined {
	return isBuiltin(specifier) ? `node:${specifier.replace(/^node:/, "")}` : undefined;
}

/** Strips bundler hints: `raw-loader!./a.txt`, `./worker?worker`. */
export function withoutLoaderHints(specifier: string): string {
	const afterLoaders = specifier.slice(specifier.lastIndexOf("!") + 1);
	const query = afterLoaders.indexOf("?");
	return query > 0 ? afterLoaders.slice(0, query) : afterLoaders;
}

export function isAsset(specifier: string): boolean {
	return ASSET.test(specifier);
}

const MAX_LENGTH = 4_096;

/** Allows npm names, including older ones with capitals. */
const PACKAGE_SPECIFIER = /^((?:@[a-z0-9_~-][\w.~-]*\/)?[a-z0-9_][\w.~-]*)(?:\/(.*))?$/is;

const ASSET =
	/\.(?:css|scss|sass|less|styl|stylus|pcss|postcss|svg|png|jpe?g|gif|webp|avif|ico|bmp|tiff?|mp[34]|m4a|webm|wav|ogg|ogv|flac|aac|mov|woff2?|ttf|otf|eot|json[5c]?|jsonl|geojson|ya?ml|toml|ini|txt|text|mdx?|markdown|html?|vue|svelte|astro|marko|riot|wasm|node|graphqls?|gql|glsl|vert|frag|vs|fs|wgsl|hlsl|sql|csv|tsv|xml|xsl|pdf|zip|gz|hbs|handlebars|ejs|pug|jade|njk|mustache|liquid|tpl|proto|prisma|po|pot|ftl|webmanifest|manifest|bin|dat|gltf|glb|obj|fbx|hdr|exr|ktx2?|snap|coffee|elm|re|res|rs|py|sh|map|template|raw|worklet)$/i;

function schemeName(specifier: string, scheme: string): string {
	if (/^https?$/i.test(scheme)) return /^[^?#]*/.exec(specifier)?.[0] ?? specifier;
	return /^(?:data|blob)$/i.test(scheme) ? `${scheme.toLowerCase()}:` : specifier;
}

export type ModuleResolution =
	| { readonly kind: "file"; readonly path: string }
	/** A package (`react`), a runtime module (`node:fs`), or an asset (`asset:` and its path). */
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unresolved"; readonly reason: string };

export interface ProjectChange {
	readonly added: readonly string[];
	readonly removed: readonly string[];
	/** Changed configurations and links. */
	readonly configs: readonly string[];
	/** All links, even unchanged ones, since an added file can be found through a link. */
	readonly links: readonly Symlink[];
}

export interface ResolvedModuleRequest {
	readonly from: string;
	readonly specifier: string;
	readonly resolution: ModuleResolution;
}

/** Whether to resolve a request again. No false negatives. `change` is a cache key: reuse the object. */
export function affectedBy(change: ProjectChange, request: ResolvedModuleRequest): boolean {
	if (change.configs.length > 0) return true;
	const { specifier, resolution } = request;
	const { removed, names } = getOrAdd(derivedOf, change, () => derive(change));
	if (resolution.kind === "file" && removed.has(resolution.path)) return true;
	const sorted = specifierKind(specifier);
	if (sorted.kind === "invalid") return false;
	if (sorted.kind !== "relative" && withoutLoaderHints(specifier) === specifier) {
		if (change.added.length > 0) return true;
		// When a folder of that name loses its last file, an unresolved name may now be a package.
		const isMissing =
			resolution.kind === "unresolved" ||
			(resolution.kind === "external" && resolution.name.startsWith("asset:"));
		return change.removed.length > 0 && isMissing;
	}
	if (change.added.length === 0 && change.removed.length === 0) return false;
	return [specifier, withoutLoaderHints(specifier)].some((written) => {
		// A loader prefix can precede any kind of specifier.
		if (specifierKind(written).kind !== "relative") return true;
		const path = joinPath(folderOf(request.from), written);
		// The root folder has no name to compare.
		return path === "" || (path !== undefined && names.has(stemOf(nameOf(path))));
	});
}

const derivedOf = new WeakMap<ProjectChange, ReturnType<typeof derive>>();

function derive({ added, removed, links }: ProjectChange) {
	const leading = links.filter(({ target }) =>
		added.some((path) => restBelow(target, path) !== undefined),
	);
	const paths = [...added, ...leading.map(({ path }) => path)];
	return {
		removed: new Set(removed),
		/**
		 * A relative specifier finds an added file only if it ends in the name of the file, of a parent
		 * folder or of a link. The names are without extension, suffix and `.d`, which may differ.
		 */
		names: new Set(paths.flatMap((path) => path.split("/")).map(stemOf)),
	};
}

function stemOf(name: string): string {
	const dot = name.indexOf(".", 1);
	return dot < 0 ? name : name.slice(0, dot);
}
