import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeError, errnoOf } from "../../core/errno.ts";
import { isRecord } from "../../core/property.ts";
import { pathKind } from "../scan/path-kinds.ts";
import { parseTolerantJson } from "./tolerant-json.ts";

/** A configuration file that could not, or not wholly, be understood. */
export interface ConfigProblem {
	readonly path: string;
	readonly message: string;
}

/** The configuration files of a project, each read at most once. */
export interface ConfigFiles {
	/** Paths that the scan found. */
	readonly paths: ReadonlySet<string>;
	/** What a file holds; `undefined` if there is none, or it cannot be read. */
	text(path: string): string | undefined;
	/** The same as an object; of anything else than an object, an empty one. */
	object(path: string): ConfigObject | undefined;
	readonly problems: readonly ConfigProblem[];
	/** Files that were looked for, found or not, and are not among what a scan finds by itself. */
	readonly looked: ReadonlySet<string>;
}

/** An object read from a configuration file: no key of it can be trusted to hold anything. */
export type ConfigObject = Readonly<Record<string, unknown>>;

/** Gives the text of a file by its path in the project, `undefined` if it is missing; throws what hinders reading. */
export type ReadConfig = (path: string) => string | undefined;

/** Reads configuration of at most a megabyte from the disk; only regular files, so that no pipe is waited for. */
export function createConfigReader(root: string): ReadConfig {
	return (path) => {
		let file: number;
		try {
			// Links are followed: `node_modules` is full of them.
			file = openSync(join(root, path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
		} catch (error) {
			if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
			throw error;
		}
		try {
			const stats = fstatSync(file);
			if (!stats.isFile()) return undefined;
			if (stats.size > maxConfigBytes) {
				throw new Error(`it has ${stats.size} bytes; more than ${maxConfigBytes} are not read`);
			}
			return readFileSync(file, "utf8");
		} finally {
			closeSync(file);
		}
	};
}

const maxConfigBytes = 1024 * 1024;

/** Wraps `read` so that nothing throws and nothing is read twice. `paths` are the files that the scan found. */
export function createConfigFiles(paths: ReadonlySet<string>, read: ReadConfig): ConfigFiles {
	const problems: ConfigProblem[] = [];
	const looked = new Set<string>();
	const objects = new Map<string, ConfigObject | undefined>();

	function text(path: string): string | undefined {
		const isScanned = pathKind(path) === "config" && !/(?:^|\/)node_modules\//.test(path);
		if (isScanned && !paths.has(path)) return undefined;
		if (!isScanned) looked.add(path);
		try {
			return read(path);
		} catch (error) {
			problems.push({ path, message: describeError(error) });
			return undefined;
		}
	}

	function object(path: string): ConfigObject | undefined {
		if (objects.has(path)) return objects.get(path);
		const found = text(path);
		objects.set(path, found === undefined ? undefined : parse(path, found));
		return objects.get(path);
	}

	function parse(path: string, found: string): ConfigObject {
		const { value, problem } = parseTolerantJson(found);
		if (problem !== undefined) problems.push({ path, message: problem });
		if (isRecord(value)) return value;
		if (problem === undefined) problems.push({ path, message: "it does not hold an object" });
		return {};
	}

	return { paths, text, object, problems, looked };
}

/** An object's own value: `constructor` and the like are not configuration. */
export function own(object: ConfigObject, key: string): unknown {
	return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A non-empty text without NUL, or nothing. */
export function ownText(object: ConfigObject, key: string): string | undefined {
	const value = own(object, key);
	return typeof value === "string" && value !== "" && !value.includes("\0") ? value : undefined;
}

/** The texts of a list, or nothing if there is no list. */
export function ownTexts(object: ConfigObject, key: string): string[] | undefined {
	const value = own(object, key);
	if (!Array.isArray(value)) return undefined;
	return value.filter((item) => typeof item === "string" && !item.includes("\0"));
}
