import { posix, win32 } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PagingError, truncate } from "./errors.ts";

type ResourceAddress =
	| { readonly kind: "web"; readonly url: URL; readonly key: string }
	/** `path` is absolute, without `.` and `..`. Access is checked later, after following links. */
	| { readonly kind: "file"; readonly path: string };

export const MAX_URI_CHARS = 8192;

/** Removes a URL's fragment. A relative path needs `root`. Throws `invalid_uri` or `unsupported_scheme`. */
export function normaliseUri(
	input: string,
	root?: string,
	platform: NodeJS.Platform = process.platform,
): ResourceAddress {
	if (input.length > MAX_URI_CHARS) {
		throw invalid(input, `it is longer than ${MAX_URI_CHARS} characters`);
	}
	if (input.trim() === "") throw invalid(input, "it is empty");
	if (!input.isWellFormed())
		throw invalid(input, "it contains half a character (an unpaired surrogate)");

	const context: PathContext = { root, isWindows: platform === "win32" };
	const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(input)?.[1]?.toLowerCase();
	const isDrive = context.isWindows && scheme?.length === 1;
	if (scheme === undefined || isDrive) return { kind: "file", path: pathOf(input, context) };
	// Only the ends are trimmed, as in a browser. White space inside can disguise an address, so it fails.
	const uri = input.trim();
	if (/[\s\p{Cc}]/u.test(uri)) throw invalid(input, "write spaces as %20, and nothing invisible");
	if (scheme === "http" || scheme === "https") return webAddress(uri);
	if (scheme === "file") return { kind: "file", path: filePathOf(uri, context) };
	const message = `Cannot read "${truncate(scheme)}:" addresses, only http:, https: and file:. If it is the name of a file, write ./ before it.`;
	throw new PagingError("unsupported_scheme", message);
}

/**
 * Takes the fragment from an address, decoded: a section of a page, or pages of a PDF. In a plain path, only
 * `#page=` after a PDF is one, since files may have a `#` in their name.
 */
export function splitFragment(uri: string): { resource: string; fragment: string } {
	const isAddress = /^\s*[a-z][a-z0-9+.-]+:/i.test(uri);
	const at = isAddress
		? uri.indexOf("#")
		: uri.search(/(?<=\.pdf)#page=[\d-]+$|(?<=\.(?:md|mdx|markdown|html?))#[^/#]+$/i);
	if (at === -1) return { resource: uri, fragment: "" };
	const written = uri.slice(at + 1).trim();
	try {
		return { resource: uri.slice(0, at), fragment: decodeURIComponent(written) };
	} catch {
		return { resource: uri.slice(0, at), fragment: written }; // a percent sign that encodes nothing
	}
}

/** The pages that a fragment names: `page=12` or `page=12-15`. */
export function pagesOf(fragment: string): { first: number; last?: number } | undefined {
	const [, first, last] = /^page=(\d{1,7})(?:-(\d{1,7}))?$/.exec(fragment) ?? [];
	if (first === undefined) return undefined;
	return { first: Number(first), ...(last !== undefined && { last: Number(last) }) };
}

type PathContext = { readonly root: string | undefined; readonly isWindows: boolean };

function webAddress(uri: string): ResourceAddress {
	// `URL` also accepts "https:host", "https:///host" and "https:\\host", which are mistakes or disguises.
	const authority = /^https?:\/\/([^/?#\\]+)/i.exec(uri)?.[1];
	if (authority === undefined) throw invalid(uri, "a web address begins with https:// and a host");
	if (authority.includes("@")) {
		const message =
			"The address names a user or a password before the host. Leave out everything up to the @.";
		throw new PagingError("invalid_uri", message);
	}
	const url = parse(uri);
	url.hash = "";
	return { kind: "web", url, key: url.href };
}

function filePathOf(uri: string, context: PathContext): string {
	const encoded = /%(?:2f|5c|00)/i.exec(uri)?.[0];
	if (encoded !== undefined) throw invalid(uri, `${encoded} cannot be part of a file name`);
	const isRelative = !/^file:[/\\]/i.test(uri);
	const url = isRelative ? parse(uri, folderUrl(uri, context)) : parse(uri);
	if (url.host !== "") {
		throw invalid(uri, "files of another host cannot be read; write file:///path for a local one");
	}
	if (url.pathname.startsWith("//")) throw invalid(uri, "write file:///path, with three slashes");
	if (url.search !== "") throw invalid(uri, 'a file has no query; write "?" in its name as %3F');
	try {
		return pathOf(fileURLToPath(url, { windows: context.isWindows }), context);
	} catch (error) {
		if (error instanceof PagingError) throw error;
		throw invalid(uri, "it does not name a file here", error);
	}
}

function pathOf(path: string, context: PathContext): string {
	const { resolve, isAbsolute } = context.isWindows ? win32 : posix;
	if (/\p{Cc}/u.test(path)) throw invalid(path, "it contains control characters");
	if (context.isWindows) {
		// Opening \\host\share sends the user's credentials to the host. \\.\ and \\?\ are devices.
		if (/^[\\/]{2}/.test(path)) throw invalid(path, "network and device paths cannot be read");
		// "C:notes.txt" is relative to the current folder of drive C, which only the process knows.
		if (/^[a-z]:(?![\\/])/i.test(path)) throw invalid(path, "write a slash after the drive");
	}
	if (isAbsolute(path) && context.root === undefined) return resolve(path);
	// Absolute paths are resolved too, since `\notes.txt` is on the drive of the root.
	return resolve(rootOf(path, context), path);
}

function rootOf(input: string, { root }: PathContext): string {
	if (root !== undefined) return root;
	throw invalid(input, "it is relative, and there is no folder to start from");
}

function folderUrl(uri: string, context: PathContext): URL {
	const root = rootOf(uri, context);
	return pathToFileURL(root.endsWith("/") ? root : `${root}/`, { windows: context.isWindows });
}

function parse(uri: string, base?: URL): URL {
	try {
		return new URL(uri, base);
	} catch {
		// No `cause`, since the original error quotes the whole address, which may contain secrets.
		throw invalid(uri, "it is not a valid URL");
	}
}

function invalid(input: string, reason: string, cause?: unknown): PagingError {
	const message = `Cannot read ${JSON.stringify(truncate(withoutSecrets(input)))}: ${reason}.`;
	return new PagingError("invalid_uri", message, cause === undefined ? undefined : { cause });
}

// The address could not be parsed, so secrets may be anywhere in it. A plain path is returned unchanged.
function withoutSecrets(input: string): string {
	// Also matches a scheme disguised by invisible characters. A single letter is a Windows drive.
	const scheme = /^[\s\p{Cc}]*[a-z][a-z0-9+.\s\p{Cc}-]+:/iu.exec(input)?.[0];
	if (scheme === undefined) return input;
	const rest = input.slice(scheme.length);
	const userEnd = rest.lastIndexOf("@");
	const query = rest.search(/[?#]/);
	const shown = query < 0 ? rest : `${rest.slice(0, query + 1)}…`;
	if (userEnd < 0) return scheme + shown;
	// Hides everything: either a password contains the "?", or the query contains the "@".
	if (query >= 0 && query < userEnd) return `${scheme}…`;
	return `${scheme}…${shown.slice(userEnd)}`;
}
