import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A door of the package: one file of `src/library/`. */
export interface Door {
	readonly name: string;
	readonly file: string;
	/** The paragraph that opens the file. */
	readonly contract: string;
	readonly examples: readonly Example[];
}

/** A complete program in the doc comment of a door. */
export interface Example {
	readonly intro: string;
	readonly code: string;
}

/** All doors, by name. Throws for one without a paragraph or an example. */
export function readDoors(): Door[] {
	return globSync("src/library/*.ts", { cwd: root })
		.sort()
		.map((path) => readDoor(join(root, path)));
}

/** The name by which a program imports the door. */
export function importName({ name }: Pick<Door, "name">): string {
	return name === "extension" ? "pi-strata" : `pi-strata/${name}`;
}

function readDoor(file: string): Door {
	const comment = /^\/\*\*\n(.*?)\n \*\//s.exec(readFileSync(file, "utf8"))?.[1];
	const text = comment?.replaceAll(/^ \* ?/gm, "") ?? "";
	const [contract = "", ...examples] = text.split(/^@example\n/m).map((part) => part.trim());
	if (contract === "" || examples.length === 0) {
		throw new Error(`${file} must open with a doc comment: a paragraph and an @example`);
	}
	return { name: basename(file, ".ts"), file, contract, examples: examples.map(exampleOf) };
}

function exampleOf(text: string): Example {
	const [, intro = "", code] = /^(.*?)\n```ts\n(.*)\n```$/s.exec(text) ?? [];
	if (code === undefined) throw new Error(`This @example has no program in it:\n${text}`);
	return { intro, code };
}
