import { readdirSync } from "node:fs";
import { basename, resolve } from "node:path";
import { expandHome } from "./places.ts";

const MOST = 50;

/** Paths below `folder` that begin with what was typed; a folder ends with `/`. Names with spaces are left out. */
export function completePath(typed: string, folder: string): string[] {
	const isFolder = typed === "" || typed.endsWith("/");
	const start = isFolder ? "" : basename(typed);
	const parent = isFolder ? typed : typed.slice(0, typed.length - start.length);
	try {
		const place = resolve(folder, expandHome(parent === "" ? "." : parent));
		return readdirSync(place, { withFileTypes: true })
			.filter(({ name }) => name.startsWith(start) && !/\s/.test(name))
			.filter(({ name }) => !name.startsWith(".") || start.startsWith("."))
			.map((entry) => `${parent}${entry.name}${entry.isDirectory() ? "/" : ""}`)
			.sort()
			.slice(0, MOST);
	} catch {
		return []; // no such folder, or it cannot be read
	}
}

/** What pi's editor offers for an argument: `before` stays, the path behind it is completed. */
export function pathItems(before: string, typed: string) {
	const paths = completePath(typed, process.cwd());
	const items = paths.map((path) => ({ value: `${before}${path}`, label: path }));
	return items.length > 0 ? items : null;
}
