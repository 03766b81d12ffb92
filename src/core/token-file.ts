import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Stats } from "node:fs";
import { constants, link, mkdir, open, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { temporaryName } from "./atomic-file.ts";
import { errnoOf } from "./errno.ts";

export interface Tokens {
	/** Takes the same time for every wrong token. */
	principalOf(token: string): string | undefined;
	/** Whether there is a token of this name. */
	has(principal: string): boolean;
	/** The file's first entry, which the server shows to the user. */
	readonly first: { readonly name: string; readonly token: string };
}

const MAX_FILE_BYTES = 2 ** 20;
const MAX_ENTRIES = 1_000;
/** Enough for 96 bits in base64url. */
const MIN_TOKEN_CHARS = 16;
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
/** Valid both in a header and in a WebSocket subprotocol. */
const TOKEN = /^[A-Za-z0-9._~+-]+$/;

/** A line is `principal:token` or a `#` comment. Creates a missing file; an existing one must be private. */
export async function loadTokens(path: string): Promise<Tokens> {
	const text = (await readPrivateFile(path, "token file")) ?? (await create(path));
	const entries = parseTokens(text, path);
	const [first] = entries;
	if (!first) {
		throw new Error(`token file ${path} has no entry; add a line "me:<token>", or delete the file`);
	}
	const digestOf = (token: string) => hash("sha256", token, "buffer");
	const digests = entries.map(({ name, token }) => ({ name, digest: digestOf(token) }));
	return {
		first,
		has: (principal) => entries.some(({ name }) => name === principal),
		principalOf(token) {
			const given = digestOf(token);
			let principal: string | undefined;
			for (const { name, digest } of digests) {
				if (timingSafeEqual(digest, given)) principal = name;
			}
			return principal;
		},
	};
}

/** Errors name the line number, never the content. */
export function parseTokens(text: string, path: string): { name: string; token: string }[] {
	const entries: { name: string; token: string }[] = [];
	for (const [index, raw] of text.split("\n").entries()) {
		const line = raw.trim();
		if (line === "" || line.startsWith("#")) continue;
		const where = `token file ${path}, line ${index + 1}`;
		const colon = line.indexOf(":");
		const name = line.slice(0, Math.max(colon, 0)).trim();
		const token = line.slice(colon + 1).trim();
		if (colon === -1) throw new Error(`${where}: the line must have the form name:token`);
		if (!NAME.test(name)) {
			throw new Error(`${where}: the name must have 1 to 64 characters: letters, digits or . _ -`);
		}
		if (!TOKEN.test(token) || token.length < MIN_TOKEN_CHARS) {
			throw new Error(
				`${where}: the token must have at least ${MIN_TOKEN_CHARS} characters: letters, digits or . _ ~ + -`,
			);
		}
		const other = entries.find((entry) => entry.token === token);
		if (other) throw new Error(`${where}: ${other.name} has the same token; choose a new one`);
		entries.push({ name, token });
		if (entries.length > MAX_ENTRIES) {
			throw new Error(`token file ${path} has more than ${MAX_ENTRIES} entries; remove some`);
		}
	}
	return entries;
}

/** `undefined` if there is none. Throws if other users can read it. `what` names it in errors. */
export async function readPrivateFile(path: string, what: string): Promise<string | undefined> {
	// Non-blocking: opening a pipe would wait for a writer.
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
		if (errnoOf(error) === "ENOENT") return undefined;
		const why = `cannot read ${what} ${path}: ${errnoOf(error) ?? error}`;
		throw new Error(why, { cause: error });
	});
	if (!file) return undefined;
	try {
		const fault = faultIn(await file.stat(), path); // checks the open file, to avoid a race
		if (fault) throw new Error(`${what} ${path} ${fault}`);
		return await file.readFile("utf8");
	} finally {
		await file.close();
	}
}

function faultIn(stats: Stats, path: string): string | undefined {
	if (!stats.isFile()) return "is not a regular file";
	if (process.platform !== "win32") {
		const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
		if ((stats.mode & 0o077) !== 0)
			return `is open to other users (mode ${mode}); run: chmod 600 ${path}`;
		const self = process.getuid?.();
		if (self !== 0 && stats.uid !== self) return "belongs to another user; use a file of your own";
	}
	const isTooLarge = stats.size > MAX_FILE_BYTES;
	return isTooLarge ? `has ${stats.size} bytes; the limit is ${MAX_FILE_BYTES}` : undefined;
}

/** Creates the file with mode 0600. If another process was faster, returns the content of its file. */
async function create(path: string): Promise<string> {
	const token = randomBytes(32).toString("base64url");
	const text = `# One name:token per line. Sessions belong to the name before the colon. Keep this file private.\nlocal:${token}\n`;
	const folder = dirname(path);
	await mkdir(folder, { recursive: true, mode: 0o700 });
	const temporary = join(folder, temporaryName());
	try {
		await writeFile(temporary, text, { flag: "wx", mode: 0o600, flush: true });
		// `link` fails if the file exists; a rename would replace it.
		await link(temporary, path);
		return text;
	} catch (error) {
		if (errnoOf(error) !== "EEXIST") throw error;
		const other = await readPrivateFile(path, "token file");
		if (other !== undefined) return other;
		throw new Error(`token file ${path} is a broken link; remove the link`, { cause: error });
	} finally {
		await rm(temporary, { force: true });
	}
}
