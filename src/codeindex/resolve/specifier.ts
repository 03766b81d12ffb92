import { isBuiltin } from "node:module";

export type SpecifierKind =
	| { readonly kind: "relative"; readonly folderOnly: boolean }
	| { readonly kind: "absolute" }
	/** A URL or a virtual module: `node:fs`, `bun:test`, `virtual:pages`. */
	| { readonly kind: "scheme"; readonly name: string }
	/** `packageName` only if it is a valid one. */
	| { readonly kind: "bare"; readonly packageName?: string; readonly subpath: string }
	| { readonly kind: "invalid"; readonly reason: string };

export function specifierKind(specifier: string): SpecifierKind {
	if (specifier === "") return { kind: "invalid", reason: "the specifier is empty" };
	if (specifier.length > maxLength) {
		return { kind: "invalid", reason: `the specifier is longer than ${maxLength} characters` };
	}
	if (specifier.includes("\0")) {
		return { kind: "invalid", reason: "the specifier holds a NUL character" };
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
	const [, packageName, rest] = packageForm.exec(specifier) ?? [];
	if (packageName === undefined) return { kind: "bare", subpath: "." };
	return { kind: "bare", packageName, subpath: rest ? `./${rest}` : "." };
}

/** Without the prefix: `fs`, `fs/promises`. */
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
	return assetName.test(specifier);
}

const maxLength = 4_096;

/** Registry names, and older ones with capitals. */
const packageForm = /^((?:@[a-z0-9_~-][\w.~-]*\/)?[a-z0-9_][\w.~-]*)(?:\/(.*))?$/is;

const assetName =
	/\.(?:css|scss|sass|less|styl|stylus|pcss|postcss|svg|png|jpe?g|gif|webp|avif|ico|bmp|tiff?|mp[34]|m4a|webm|wav|ogg|ogv|flac|aac|mov|woff2?|ttf|otf|eot|json[5c]?|jsonl|geojson|ya?ml|toml|ini|txt|text|mdx?|markdown|html?|vue|svelte|astro|marko|riot|wasm|node|graphqls?|gql|glsl|vert|frag|vs|fs|wgsl|hlsl|sql|csv|tsv|xml|xsl|pdf|zip|gz|hbs|handlebars|ejs|pug|jade|njk|mustache|liquid|tpl|proto|prisma|po|pot|ftl|webmanifest|manifest|bin|dat|gltf|glb|obj|fbx|hdr|exr|ktx2?|snap|coffee|elm|re|res|rs|py|sh|map|template|raw|worklet)$/i;

function schemeName(specifier: string, scheme: string): string {
	if (/^https?$/i.test(scheme)) return /^[^?#]*/.exec(specifier)?.[0] ?? specifier;
	return /^(?:data|blob)$/i.test(scheme) ? `${scheme.toLowerCase()}:` : specifier;
}
