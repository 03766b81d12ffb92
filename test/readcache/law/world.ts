import {
	existsSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Random } from "./random.ts";

/** A working folder full of small, repetitive files, and the other programs that change them. */
export interface World {
	readonly cwd: string;
	/** A path as a model might write it: relative, absolute, with `..`, through a link. */
	path(): string;
	/** Lets another program change something. Says what it did. */
	disturb(): string;
	/** One of the files, by its own name. */
	file(): string;
	/** Lets another program change a file for a while. Says what it did. */
	changeForAWhile(file: string): string;
	/** Remembers a file as it is; the function that is returned brings that back. */
	keep(file: string): () => void;
	/** What is behind a written path right now. */
	look(written: string): Found;
	/** The lines of that file; a single empty one if it is none. */
	linesOf(written: string): string[];
	exists(written: string): boolean;
}

/** A place in the file system: its real path, whether a link led there, and the bytes of the file, if it is one. */
export interface Found {
	file: string;
	isLinked: boolean;
	bytes: Buffer | undefined;
}

const SMALL = ["a.txt", "b.txt", "sub/c.txt", "other/c.txt", "d e.txt"];
const LARGE = ["many.txt", "wide.txt"];
/** A file whose name looks like a range of another. */
const ODD = "b.txt:2-4";

/** How a world behaves: rare events need sessions that lean towards them. */
export interface Manners {
	/** How much more often one file is read and changed than the others. */
	focus: number;
	/** `small`: other programs mostly touch single lines. `flip`: they mostly go back and forth between versions. */
	changes: "any" | "small" | "flip";
}

/** Makes the files anew in `cwd`, which is emptied first. */
export function createWorld(cwd: string, random: Random, { focus, changes }: Manners): World {
	rmSync(cwd, { recursive: true, force: true });
	for (const folder of ["sub", "other"]) mkdirSync(join(cwd, folder), { recursive: true });
	const versions = new Map<string, Buffer[]>();
	// A few files get most of the attention: only what is read again can be answered from the cache.
	const hasLarge = random.chance(0.25);
	const favourite = random.pick(hasLarge && random.chance(0.3) ? LARGE : SMALL);
	const second = random.pick(SMALL);
	for (const name of SMALL) write(name, smallText(random));
	write(ODD, smallText(random));
	if (hasLarge) {
		write("many.txt", manyLines(random));
		write("wide.txt", wideLines(random));
	}
	link("link.txt", favourite);
	link("folder", "sub");
	link(".env.link", second);

	return {
		cwd,
		path,
		disturb,
		file: someFile,
		changeForAWhile: (file) => change(file, true),
		keep,
		look: (written) => look(cwd, written),
		linesOf: (written) => look(cwd, written).bytes?.toString("utf8").split("\n") ?? [""],
		exists: (written) => existsSync(look(cwd, written).file),
	};

	function someFile(): string {
		return random.weighted([
			[focus, favourite],
			[4, second],
			[3, random.pick(SMALL)],
			[0.2, ODD],
			[hasLarge ? 2 : 0, random.pick(LARGE)],
		]);
	}

	function path(): string {
		const name = someFile();
		return random.weighted([
			[12, name],
			[1, `./${name}`],
			[1, `sub/../${name}`],
			[1, join(cwd, name)],
			[0.5, `${cwd}/other/../${name}`],
			[0.5, `@${name}`],
			[2, "link.txt"],
			[1, "folder/c.txt"],
			[0.3, ".env.link"],
			[0.3, name.replace(" ", "\u00a0")],
		]);
	}

	function disturb(): string {
		if (random.chance(0.06)) return swapLink();
		return change(someFile());
	}

	function keep(file: string): () => void {
		const { bytes } = look(cwd, file);
		return () => bytes && write(file, bytes);
	}

	/** What is cut off for a while was seen before and is back later: the best trap there is. */
	function change(name: string, forAWhile = false): string {
		const { bytes } = look(cwd, name);
		if (bytes) remember(name, bytes); // the model may have written it
		const known = versions.get(name) as Buffer[];
		const [small, back] = [changes === "small" ? 12 : 1, changes === "flip" ? 6 : 1];
		const kind = random.weighted<keyof typeof CHANGES | "revert" | "binary" | "remove" | "folder">([
			[8 * small, "changeLine"],
			[3 * small, "changeSome"],
			[3, "insertOnTop"],
			[3, "deleteLines"],
			[3, "append"],
			[(bytes ? 9 : 30) * back, "revert"],
			[(forAWhile ? 6 : 1.5) * back, "truncate"],
			[0.7, "binary"],
			[0.7, "remove"],
			[0.2, "folder"],
			[0.7, "reindent"],
			[0.7, "switchLineEnds"],
			[0.7, "switchFinalNewline"],
			[0.4, "switchMark"],
			[0.7, "moveLines"],
			[0.2, "giantLine"],
			[0.5, "empty"],
		]);
		if (kind === "remove" || kind === "folder") {
			rmSync(join(cwd, name), { recursive: true, force: true });
			if (kind === "folder") mkdirSync(join(cwd, name));
		} else if (kind === "revert") {
			// The last few versions come back most often: an undo, a branch switched to and fro.
			const last = bytes ? 1 : 0;
			const ago = random.chance(0.7) ? random.below(3) : random.below(known.length);
			write(name, known.at(-1 - Math.min(last + ago, known.length - 1)) as Buffer);
		} else if (kind === "binary") {
			write(name, random.chance(0.5) ? BINARY : Buffer.concat([bytes ?? BINARY, NOT_UTF8]));
		} else {
			const text = (bytes ?? (known.at(-1) as Buffer)).toString("utf8");
			write(name, CHANGES[kind](text, random));
		}
		return `${name}: ${kind}`;
	}

	function swapLink(): string {
		if (random.chance(0.3)) {
			const target = random.pick(["sub", "other"]);
			link("folder", target);
			return `folder -> ${target}`;
		}
		const target = random.weighted([
			[4, random.pick(SMALL)],
			[2, favourite],
			[0.3, "nowhere.txt"],
		]);
		link("link.txt", target);
		return `link.txt -> ${target}`;
	}

	function write(name: string, content: Buffer | string): void {
		const bytes = Buffer.from(content);
		const path = join(cwd, name);
		if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
			rmSync(path, { recursive: true });
		writeFileSync(path, bytes);
		remember(name, bytes);
	}

	function remember(name: string, bytes: Buffer): void {
		const known = versions.get(name) ?? [];
		versions.set(name, [...known.filter((version) => !version.equals(bytes)), bytes].slice(-12));
	}

	function link(name: string, target: string): void {
		rmSync(join(cwd, name), { force: true });
		symlinkSync(target, join(cwd, name));
	}
}

/** Follows links itself, so that a file which is gone still has its place. */
function look(cwd: string, written: string): Found {
	const path = resolve(cwd, written.replace("\u00a0", " ").replace(/^@/, ""));
	const file = placeOf(path);
	const isFile = lstatSync(file, { throwIfNoEntry: false })?.isFile();
	return { file, isLinked: path !== file, bytes: isFile ? readFileSync(file) : undefined };
}

function placeOf(path: string): string {
	const place = join(realpathSync(dirname(path)), basename(path));
	const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink();
	return isLink ? placeOf(resolve(dirname(place), readlinkSync(place))) : place;
}

const BINARY = Buffer.from([0, 1, 2, 3, 10, 0, 255, 254, 10, 7]);
const NOT_UTF8 = Buffer.from([10, 0xc3, 0x28, 10]);

/** Few enough that lines repeat, long enough that a diff can be worth it. */
const ALPHABET = [
	"const first = measure(input, 1);",
	"\tif (first > limit) return undefined;",
	"}",
	"",
	"  trailing spaces stay where they are   ",
	"const second = measure(input, 2);",
	"über größere Zeilen läuft der Zähler",
	"-- a comment in another language",
	"++counter;",
];
/** Lines that look like what tools say about lines. */
const TRAPS = [
	"[readcache: unchanged, 3 lines]",
	"[2 more lines in file. Use offset=3 to continue.]",
	"--- a/a.txt",
	"+++ b/a.txt",
	"@@ -1,3 +1,3 @@",
	"\\ No newline at end of file",
	"ends in a carriage return\r",
];

function someLine(random: Random): string {
	return random.weighted([
		[12, random.pick(ALPHABET)],
		[1, random.pick(TRAPS)],
		[5, `line number ${random.below(40)} of the file`],
	]);
}

function someLines(count: number, random: Random): string[] {
	return Array.from({ length: count }, () => someLine(random));
}

function smallText(random: Random): string {
	const lines = someLines(random.between(5, 60), random);
	return lines.join("\n") + (random.chance(0.8) ? "\n" : "");
}

/** Around pi's limit of 2,000 lines. */
function manyLines(random: Random): string {
	const count = random.pick([1999, 2000, 2001, 2100, 2400]);
	const lines = Array.from({ length: count }, () => random.pick(["a", "b", "", "cc", "ddd"]));
	return lines.join("\n") + (random.chance(0.7) ? "\n" : "");
}

/** Over pi's limit of 50 KB. */
function wideLines(random: Random): string {
	const lines = someLines(random.between(60, 70), random);
	return lines.map((line) => line + "-".repeat(random.pick([700, 800, 1000]))).join("\n");
}

type Change = (text: string, random: Random) => string;

const CHANGES = {
	changeLine: onLines((lines, random) => {
		lines[random.below(lines.length)] = someLine(random);
	}),
	changeSome: onLines((lines, random) => {
		for (let i = random.between(2, 4); i > 0; i--) {
			lines[random.below(lines.length)] = someLine(random);
		}
	}),
	insertOnTop: onLines((lines, random) => {
		lines.unshift(...someLines(random.between(1, 3), random));
	}),
	deleteLines: onLines((lines, random) => {
		lines.splice(random.below(lines.length), random.between(1, 4));
	}),
	append: onLines((lines, random) => {
		lines.push(...someLines(random.between(1, 4), random));
	}),
	truncate: onLines((lines, random) => {
		lines.length = random.between(1, lines.length);
	}),
	moveLines: onLines((lines, random) => {
		const moved = lines.splice(random.below(lines.length), random.between(1, 5));
		lines.splice(random.below(lines.length + 1), 0, ...moved);
	}),
	reindent: onLines((lines) => {
		for (const [index, line] of lines.entries()) if (line !== "") lines[index] = `  ${line}`;
	}),
	giantLine: onLines((lines, random) => {
		lines[random.chance(0.5) ? 0 : random.below(lines.length)] = "x".repeat(60_000);
	}),
	switchLineEnds: (text: string) =>
		text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text.replaceAll("\n", "\r\n"),
	switchFinalNewline: (text: string) => (text.endsWith("\n") ? text.slice(0, -1) : `${text}\n`),
	switchMark: (text: string) => (text.startsWith("\ufeff") ? text.slice(1) : `\ufeff${text}`),
	empty: () => "",
} satisfies Record<string, Change>;

/** A change of whole lines; files are kept from growing for ever. */
function onLines(change: (lines: string[], random: Random) => void): Change {
	return (text, random) => {
		const lines = text.split("\n");
		change(lines, random);
		const most = lines.length > 300 ? 2600 : 70;
		return lines.slice(0, most).join("\n");
	};
}
