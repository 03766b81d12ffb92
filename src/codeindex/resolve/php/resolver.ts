import { below, folderOf, joinPath, nameOf } from "../../../core/project-path.ts";
import { isRecord } from "../../../core/property.ts";
import { BY_NAME, type CreateResolver } from "../../language.ts";
import { NOWHERE, PathIndex, toFile } from "../by-path/path-index.ts";
import { ConfigFiles, type ConfigObject, own } from "../config-files.ts";

/** Class names lead to files by `composer.json` (PSR-4), or else by the end of the path. */
export const createResolver: CreateResolver = ({ files, configs, readConfig }) => {
	const index = new PathIndex(files);
	const roots = autoloadRoots(new ConfigFiles(configs, readConfig), configs);
	return {
		resolve(from, specifier) {
			if (specifier === BY_NAME) return NOWHERE;
			if (specifier.startsWith("./")) {
				const path = joinPath(folderOf(from), specifier);
				const found = index.exact(path) ?? index.exact(joinPath("", specifier));
				return found
					? toFile(found)
					: { kind: "unresolved", reason: `${path ?? specifier} is not in the project` };
			}
			for (const { prefix, folder } of roots) {
				if (!specifier.startsWith(prefix)) continue;
				const found = index.exact(
					below(folder, `${specifier.slice(prefix.length).replaceAll("\\", "/")}.php`),
				);
				if (found !== undefined) return toFile(found);
			}
			const names = specifier.split("\\");
			// One name alone is ambiguous, and often a class of PHP.
			for (let skip = 0; names.length - skip > 1; skip++) {
				const found = index.endingIn(`${names.slice(skip).join("/")}.php`, from);
				if (found !== undefined) return toFile(found);
			}
			return { kind: "external", name: names[0] ?? specifier };
		},
	};
};

function autoloadRoots(config: ConfigFiles, configs: ReadonlySet<string>) {
	const roots: { prefix: string; folder: string }[] = [];
	for (const path of configs) {
		const manifest = nameOf(path) === "composer.json" ? config.object(path) : undefined;
		for (const key of manifest ? ["autoload", "autoload-dev"] : []) {
			const autoload = own(manifest as ConfigObject, key);
			const map = isRecord(autoload) ? own(autoload, "psr-4") : undefined;
			for (const [prefix, folders] of isRecord(map) ? Object.entries(map) : []) {
				for (const one of [folders].flat()) {
					const folder = typeof one === "string" ? joinPath(folderOf(path), one) : undefined;
					if (folder !== undefined) roots.push({ prefix, folder });
				}
			}
		}
	}
	return roots.sort((a, b) => b.prefix.length - a.prefix.length);
}
